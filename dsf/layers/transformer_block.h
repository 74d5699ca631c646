#pragma once

// The block of the WikiText models, where the mixer stands in attention's place:
//
//   u = x + Proj(Mixer(LN1(x)))
//   y = u + MLP(LN2(u))                  without the skip connections: no "x +", no "u +"
//
// To the layers above and below, a block is itself a mixer of width D.
//
// Memory, a row: LN1(x), the mixer's output, u and the MLP's pre-activations, 7D for a mixer as
// wide as the block. The MLP goes through the rows in chunks: LN2(u), GELU and the 4D-wide
// gradients exist for one chunk at a time. The backward pass uses the tape as its scratch, so it
// runs once after a forward pass.

#include <memory>
#include <string>

#include "dsf/layers/layer_norm.h"
#include "dsf/layers/linear.h"
#include "dsf/layers/mixer.h"
#include "dsf/layers/mlp.h"

namespace dsf {

/// A mixer between norms, with projection, MLP and skip connections.
class TransformerBlock final : public Mixer {
 public:
  /// Adds `<prefix>norm1.*`, `<prefix>proj.*`, `<prefix>norm2.*` and `<prefix>mlp.*` to the table.
  /// Initial weights are normal: `deviation` for the MLP's first map, `projection_deviation` for
  /// the two maps whose output is added to the skip connection.
  TransformerBlock(ParameterTable& table, const std::string& prefix, dim_t width, bool skip,
                   float deviation, float projection_deviation, std::unique_ptr<Mixer> mixer);

  dim_t output_width() const override { return norm1_.width(); }
  dim_t state_width() const override { return mixer_->state_width(); }
  std::unique_ptr<MixerTape> make_tape() const override;
  std::vector<NamedBuffer> buffers() override { return mixer_->buffers(); }

  void forward(Weights weights, const PackedLayout& layout, ConstMatrixF x, MatrixF state,
               MixerTape& tape, MatrixF y) override;
  void backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape, MatrixF dy, MatrixF dx,
                Gradients gradients) override;

 private:
  struct Tape;

  void forward_mlp(Weights weights, Tape& tape, MatrixF y);
  void backward_mlp(Tape& tape, MatrixF dy, Gradients gradients) const;

  bool skip_;
  std::unique_ptr<Mixer> mixer_;
  LayerNorm norm1_;
  Linear projection_;
  LayerNorm norm2_;
  Mlp mlp_;
};

}  // namespace dsf
