#include "dsf/layers/recurrent.h"

#include <cmath>
#include <utility>

#include "dsf/kernels/rows.h"

namespace dsf {
namespace {

struct RecurrentTape final : MixerTape {
  CellTape cell;
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
    tape->cell.work = shared_work_;
    tape->cell.shares_work = true;
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

void RecurrentLayer::prepare(Weights weights, Precision precision) {
  cell_->prepare({weights(weight_ih_), weights(weight_hh_), weights.vector(bias_ih_),
                  weights.vector(bias_hh_)},
                 precision, feedback_->jacobian_use());
}

void RecurrentLayer::forward(const PackedLayout& layout, ConstMatrixF x, MatrixF state,
                             MixerTape& tape, MatrixF y) const {
  cell_->forward(layout, x, state, static_cast<RecurrentTape&>(tape).cell, y);
}

void RecurrentLayer::backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape,
                              MatrixF dy, const EndGradients& ends, MatrixF dx,
                              Gradients gradients) {
  CellTape& cell_tape = static_cast<RecurrentTape&>(tape).cell;
  add_to_last_steps(layout, ends.last, dy);
  zero_rows(ends.initial);
  BackwardPass pass(*cell_, layout, x, cell_tape, dy, ends.initial);
  feedback_->run(pass);
  cell_->parameter_gradients(layout, x, cell_tape, dx,
                             {gradients(weight_ih_), gradients(weight_hh_),
                              gradients.vector(bias_ih_), gradients.vector(bias_hh_)});
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
