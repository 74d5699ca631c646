#include "dsf/layers/recurrent.h"

#include <cmath>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/kernels/rows.h"

namespace dsf {
namespace {

// A layer whose work is its own finds there the gates that its forward pass left. Layers that take
// turns share one work: they keep the states alone, and backward rebuilds the gates.
struct RecurrentTape final : MixerTape {
  Matrix states;
  std::shared_ptr<CellWork> work = std::make_shared<CellWork>();
  bool shares_work = false;
  bool filled = false;  // between forward and backward

  CellTape cell(const CellShape& shape, const PackedLayout& layout) {
    CellTape views = CellTape::in(states, work->gates, shape, layout);
    views.gates_are_lost = shares_work;
    return views;
  }
};

// e of each sequence's last step += the gradient of its last state.
void add_to_last_steps(const PackedLayout& layout, ConstMatrixF last, MatrixF e) {
  for (dim_t b = 0; b < last.rows; ++b) {
    const dim_t row = layout.offset(layout.length(b) - 1) + b;
    add_row(last.row(b), e.cols, e.row(row));
  }
}

}  // namespace

RecurrentLayer::RecurrentLayer(ParameterTable& table, const std::string& prefix,
                               std::unique_ptr<Cell> cell, std::unique_ptr<Feedback> feedback)
    : prefix_(prefix), cell_(std::move(cell)), feedback_(std::move(feedback)) {
  const CellShape& shape = cell_->shape();
  const dim_t D = shape.hidden;
  const dim_t KD = shape.gates * D;
  const Init init = Init::uniform(1.0F / std::sqrt(static_cast<float>(D)));
  weight_ih_ = table.add_matrix(prefix + "weight_ih", KD, shape.input, init);
  weight_hh_ = table.add_matrix(prefix + "weight_hh", KD, D, init);
  bias_ih_ = table.add_vector(prefix + "bias_ih", KD, init);
  bias_hh_ = table.add_vector(prefix + "bias_hh", KD, init);
}

std::unique_ptr<MixerTape> RecurrentLayer::make_tape() const {
  auto tape = std::make_unique<RecurrentTape>();
  if (shared_work_) {
    tape->work = shared_work_;
    tape->shares_work = true;
  }
  return tape;
}

std::vector<NamedBuffer> RecurrentLayer::buffers() {
  std::vector<NamedBuffer> named;
  for (NamedBuffer& buffer : feedback_->buffers()) {
    named.push_back({prefix_ + "feedback." + buffer.name, buffer.values});
  }
  return named;
}

void RecurrentLayer::forward(Weights weights, const PackedLayout& layout, ConstMatrixF x,
                             MatrixF state, MixerTape& tape, MatrixF y) {
  packed_.renew(weights, [&] {
    cell_->prepare({weights(weight_ih_), weights(weight_hh_), weights.vector(bias_ih_),
                    weights.vector(bias_hh_)},
                   weights.precision(), feedback_->jacobian_use());
  });
  auto& own = static_cast<RecurrentTape&>(tape);
  cell_->forward(layout, x, state, own.cell(cell_->shape(), layout), *own.work, y);
  own.filled = true;
}

void RecurrentLayer::backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape,
                              MatrixF dy, const EndGradients& ends, MatrixF dx,
                              Gradients gradients) {
  auto& own = static_cast<RecurrentTape&>(tape);
  if (!own.filled || own.states.rows() != layout.batch() + layout.total_rows()) {
    throw Error("recurrent layer: backward without a forward pass of the same batch before it");
  }
  own.filled = false;
  const CellTape cell_tape = own.cell(cell_->shape(), layout);
  go_back(*cell_, *feedback_, layout, x, cell_tape, *own.work, dy, ends);
  cell_->parameter_gradients(layout, x, cell_tape, *own.work, dx, Into::accumulate,
                             {gradients(weight_ih_), gradients(weight_hh_),
                              gradients.vector(bias_ih_), gradients.vector(bias_hh_)});
}

void go_back(const Cell& cell, Feedback& feedback, const PackedLayout& layout, ConstMatrixF x,
             const CellTape& tape, CellWork& work, MatrixF g, const EndGradients& ends) {
  add_to_last_steps(layout, ends.last, g);
  zero_rows(ends.initial);
  BackwardPass pass(cell, layout, x, tape, work, g, ends.initial);
  feedback.run(pass);
}

std::unique_ptr<RecurrentLayer> make_recurrent_layer(ParameterTable& table,
                                                     const std::string& prefix,
                                                     const std::string& cell,
                                                     const std::string& reset, dim_t input,
                                                     dim_t hidden, const FeedbackConfig& feedback,
                                                     std::uint64_t seed) {
  auto built = make_cell(parse_choice<CellKind>("model.mixer", cell),
                         parse_choice<GruReset>("model.reset", reset), input, hidden);
  auto carried = make_feedback(feedback, built->shape().state, seed, prefix + "feedback.diagonal");
  return std::make_unique<RecurrentLayer>(table, prefix, std::move(built), std::move(carried));
}

}  // namespace dsf
