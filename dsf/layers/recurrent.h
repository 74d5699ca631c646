#pragma once

// A recurrent layer: a cell, and the feedback that carries its gradients back in time. The only
// place that knows both.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "dsf/cells/cell.h"
#include "dsf/feedback/feedback.h"
#include "dsf/layers/mixer.h"

namespace dsf {

/// Gradients of the states at both ends of a batch, [B, S] each; an empty view: none.
struct EndGradients {
  ConstMatrixF last;  ///< in: of the last states, on top of g
  MatrixF initial;    ///< out: of the initial states; bptt exact, dsf a * g_1, ft zero
};

/// A cell's way back by a feedback: g [N, S] in the errors, out the total gradients, or something in
/// between; tape.d may be overwritten. What is left to do is Cell::parameter_gradients.
void go_back(const Cell& cell, Feedback& feedback, const PackedLayout& layout, ConstMatrixF x,
             const CellTape& tape, CellWork& work, MatrixF g, const EndGradients& ends);

/// y = the states of a cell over a batch, [N, S]; gradients go back in time by its feedback. Usable
/// without a language model: examples/forecast.cc.
class RecurrentLayer final : public Mixer {
 public:
  /// Adds <prefix>weight_ih, weight_hh, bias_ih and bias_hh to the table, uniform in +-1/sqrt(D).
  /// `feedback` must have been made for the cell's state size.
  RecurrentLayer(ParameterTable& table, const std::string& prefix, std::unique_ptr<Cell> cell,
                 std::unique_ptr<Feedback> feedback);

  /// From here on tapes keep the states alone, a fifth of what a GRU's backward pass reads, and
  /// backward rebuilds the rest in `work`, by matrix products over all rows at once. Layers that
  /// share one work take turns: one forward or backward pass at a time.
  void rebuild_gates_in(std::shared_ptr<CellWork> work) { shared_work_ = std::move(work); }

  dim_t output_width() const override { return cell_->shape().state; }
  dim_t state_width() const override { return cell_->shape().state; }
  std::unique_ptr<MixerTape> make_tape() const override;
  /// The feedback's, as <prefix>feedback.<name>: dsf has <prefix>feedback.diagonal.
  std::vector<NamedBuffer> buffers() override;

  void forward(Weights weights, const PackedLayout& layout, ConstMatrixF x, MatrixF state,
               MixerTape& tape, MatrixF y) override;
  /// Once after each forward: the tape is used up. dx may be x itself. Not const, because a feedback
  /// may learn from the batch.
  void backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape, MatrixF dy, MatrixF dx,
                Gradients gradients) override {
    backward(layout, x, tape, dy, {}, dx, gradients);
  }

  /// The same with gradients of the states at both ends. The language model, whose carried states are constants, asks for neither.
  void backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape, MatrixF dy,
                const EndGradients& ends, MatrixF dx, Gradients gradients);

 private:
  std::string prefix_;
  std::unique_ptr<Cell> cell_;
  std::unique_ptr<Feedback> feedback_;
  std::shared_ptr<CellWork> shared_work_;  // null: each tape has a work of its own
  ParameterId weight_ih_;
  ParameterId weight_hh_;
  ParameterId bias_ih_;
  ParameterId bias_hh_;
  PackedVersion packed_;  // in the cell
};

/// A recurrent layer from a configuration's names; the feedback's random numbers come from `seed`
/// and the layer's prefix. Throws ConfigError on an unknown name.
std::unique_ptr<RecurrentLayer> make_recurrent_layer(ParameterTable& table,
                                                     const std::string& prefix,
                                                     const std::string& cell,
                                                     const std::string& reset, dim_t input,
                                                     dim_t hidden, const FeedbackConfig& feedback,
                                                     std::uint64_t seed);

}  // namespace dsf
