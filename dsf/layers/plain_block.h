#pragma once

// The block of the Penn Treebank models:   y = x + Mixer(x),   or y = Mixer(x) without the skip
// connection. A mixer wider than D (the LSTM's [h, c]) is brought back by a linear map:  y = x +
// Proj(Mixer(x)).
//
// To the layers above and below, a block is itself a mixer of width D.

#include <memory>
#include <optional>
#include <string>

#include "dsf/layers/linear.h"
#include "dsf/layers/mixer.h"

namespace dsf {

/// A mixer with its skip connection and, if it is needed, its projection.
class PlainBlock final : public Mixer {
 public:
  /// Adds `<prefix>proj.*` to the table if the mixer's output is not `width` wide;
  /// `projection_deviation` is the deviation of its initial weights.
  PlainBlock(ParameterTable& table, const std::string& prefix, dim_t width, bool skip,
             float projection_deviation, std::unique_ptr<Mixer> mixer);

  dim_t output_width() const override { return width_; }
  dim_t state_width() const override { return mixer_->state_width(); }
  std::unique_ptr<MixerTape> make_tape() const override;
  std::vector<NamedBuffer> buffers() override { return mixer_->buffers(); }

  void forward(Weights weights, const PackedLayout& layout, ConstMatrixF x, MatrixF state,
               MixerTape& tape, MatrixF y) override;
  void backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape, MatrixF dy, MatrixF dx,
                Gradients gradients) override;

 private:
  dim_t width_;
  bool skip_;
  std::unique_ptr<Mixer> mixer_;
  std::optional<Linear> projection_;
};

}  // namespace dsf
