#include "dsf/layers/recurrent.h"

#include <cmath>
#include <utility>

namespace dsf {
namespace {

struct RecurrentTape final : MixerTape {
  CellTape cell;
  FeedbackWorkspace feedback;
};

class CellAccess final : public BackwardAccess {
 public:
  CellAccess(const Cell& cell, const PackedLayout& layout, CellTape& tape)
      : cell_(cell), layout_(layout), tape_(tape) {}

  void local_backward_all(ConstMatrixF g) override {
    cell_.local_backward(layout_, 0, layout_.total_rows(), g, tape_);
    cell_.finish_local_backward(layout_, tape_);
  }
  void local_backward(StepRows rows, ConstMatrixF g) override {
    cell_.local_backward(layout_, layout_.offset(rows.t) + rows.begin, rows.count, g, tape_);
  }
  void finish_local_backward() override { cell_.finish_local_backward(layout_, tape_); }
  void backward_step(StepRows rows, RestPath path, MatrixF g) override {
    cell_.backward_step(layout_, rows, path, tape_, g);
  }
  void own_path_step(StepRows rows, OwnPath path, MatrixF g) override {
    cell_.own_path_step(layout_, rows, path, tape_, g);
  }
  void begin_trials(dim_t slots) override { cell_.begin_trials(slots, tape_); }
  void own_path_trial(const StepSpan& span, const SpanStep& step, RestPath path, ConstMatrixF g,
                      MatrixF g_previous) override {
    cell_.own_path_trial(layout_, span, step, path, g, g_previous, tape_);
  }
  void rest_product(const StepSpan& span, RestPath path, MatrixF rest) override {
    cell_.rest_product(layout_, span, path, tape_, rest);
  }

 private:
  const Cell& cell_;
  const PackedLayout& layout_;
  CellTape& tape_;
};

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
                 precision, feedback_->state_products());
}

void RecurrentLayer::forward(const PackedLayout& layout, ConstMatrixF x, MatrixF state,
                             MixerTape& tape, MatrixF y) const {
  cell_->forward(layout, x, state, static_cast<RecurrentTape&>(tape).cell, y);
}

void RecurrentLayer::backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape,
                              MatrixF dy, MatrixF dx, Gradients gradients) const {
  auto& own = static_cast<RecurrentTape&>(tape);
  CellAccess access(*cell_, layout, own.cell);
  cell_->begin_backward(layout, x, own.cell);
  feedback_->run(layout, access, own.feedback, dy);
  cell_->parameter_gradients(layout, x, own.cell, dx,
                             {gradients(weight_ih_), gradients(weight_hh_),
                              gradients.vector(bias_ih_), gradients.vector(bias_hh_)});
}

std::unique_ptr<RecurrentLayer> make_recurrent_layer(ParameterTable& table,
                                                     const std::string& prefix,
                                                     const std::string& cell,
                                                     const std::string& reset, dim_t input,
                                                     dim_t hidden, const FeedbackConfig& feedback,
                                                     std::uint64_t seed) {
  auto built = make_cell(parse_cell_kind(cell), parse_gru_reset(reset), input, hidden);
  auto carried = make_feedback(feedback, built->shape().state, seed, prefix + "feedback.diagonal");
  return std::make_unique<RecurrentLayer>(table, prefix, std::move(built), std::move(carried));
}

}  // namespace dsf
