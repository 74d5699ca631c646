#include "lab/experiment/gradient_lags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/kernels/elementwise.h"
#include "dsf/layers/layer_norm.h"
#include "dsf/layers/linear.h"
#include "dsf/model/build_blocks.h"
#include "dsf/model/model_tensors.h"
#include "dsf/train/training_batches.h"

namespace dsf {
namespace {

// The row of a sequence `lag` steps before its last one.
dim_t row_at(const PackedLayout& layout, dim_t sequence, dim_t lag) {
  return layout.offset(layout.length(sequence) - 1 - lag) + sequence;
}

// dL/dlogits of -log softmax(logits)[target], in place.
void softmax_gradient(token_t target, std::span<float> logits) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (float& value : logits) {
    value = std::exp(value - largest);
    sum += static_cast<double>(value);
  }
  for (float& value : logits) value = static_cast<float>(static_cast<double>(value) / sum);
  logits[static_cast<std::size_t>(target)] -= 1.0F;
}

/// The layers of a model, taken apart so that one can see between them.
class Probe {
 public:
  Probe(const RunConfig& config, const FeedbackConfig& feedback, LanguageModel& model)
      : width_(config.model.hidden),
        blocks_(build_blocks(config.model, feedback, static_cast<std::uint64_t>(config.train.seed),
                             table_)),
        norm_(make_final_norm(config.model, table_)),
        head_(table_, "head.", width_, model.vocab(), Init::zeros()),
        weights_(table_, precision_of(config.train)),
        gradients_(table_.flat_size()) {
    copy_weights(model);
    copy_buffers(model);
    for (const auto& block : blocks_) tapes_.push_back(block->make_tape());
    inputs_.resize(blocks_.size() + 1);
    d_inputs_.resize(blocks_.size());
  }

  /// Forward, and back from each sequence's last token.
  void run(const TokenBatch& batch) {
    forward(batch);
    backward(batch);
  }

  dim_t blocks() const { return static_cast<dim_t>(blocks_.size()); }
  /// The gradient of a block's input, of the last run: [N, D].
  ConstMatrixF d_input(dim_t block) const { return d_inputs_[static_cast<std::size_t>(block)]; }

 private:
  static std::optional<LayerNorm> make_final_norm(const ModelConfig& config,
                                                  ParameterTable& table) {
    if (config.block != BlockKind::transformer) return std::nullopt;
    return LayerNorm(table, "final_norm.", config.hidden);
  }

  void copy_weights(const LanguageModel& model) {
    const std::span<float> weights = weights_.mutable_span();
    for (const ParameterInfo& from : model.table().entries()) {
      const auto values = values_of(from, model.weights());
      if (from.name == "embedding.weight") {
        embedding_.reshape(from.id.rows, from.id.cols);
        std::copy(values.begin(), values.end(), embedding_.view().data);
      }
      for (const ParameterInfo& to : table_.entries()) {
        if (to.name == from.name) {
          std::copy(values.begin(), values.end(), weights.begin() + to.id.offset);
        }
      }
    }
  }

  // A fitted diagonal is not in the weights.
  void copy_buffers(LanguageModel& model) {
    const std::vector<NamedBuffer> from = model.buffers();
    std::size_t i = 0;
    for (const auto& block : blocks_) {
      for (NamedBuffer& to : block->buffers()) {
        const NamedBuffer& source = from[i++];
        std::copy(source.values.begin(), source.values.end(), to.values.begin());
      }
    }
  }

  void forward(const TokenBatch& batch) {
    const dim_t rows = batch.tokens();
    const MatrixF embedded = inputs_[0].reshape(rows, width_);
    for (dim_t i = 0; i < rows; ++i) {
      const token_t token = batch.inputs[static_cast<std::size_t>(i)];
      std::copy_n(embedding_.view().row(token), width_, embedded.row(i));
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i]->forward(weights_, batch.layout, inputs_[i], {}, *tapes_[i],
                          inputs_[i + 1].reshape(rows, width_));
    }
  }

  /// The gradient of the last tokens' loss, in the rows of dy that they stand in.
  void send_errors(const TokenBatch& batch, MatrixF dy) {
    const PackedLayout& layout = batch.layout;
    const MatrixF h = last_rows_.reshape(layout.batch(), width_);
    const MatrixF normed = normed_.reshape(layout.batch(), width_);
    const MatrixF logits = logits_.reshape(layout.batch(), head_.out());
    for (dim_t b = 0; b < layout.batch(); ++b) {
      std::copy_n(inputs_.back().view().row(row_at(layout, b, 0)), width_, h.row(b));
    }
    norm_tape_.reshape(layout.batch());
    if (norm_) {
      norm_->forward(weights_, h, norm_tape_.from_row(0), normed);
    } else {
      copy(h, normed);
    }
    head_.forward(weights_, normed, head_scratch_, logits);
    for (dim_t b = 0; b < layout.batch(); ++b) {
      const token_t target = batch.targets[static_cast<std::size_t>(row_at(layout, b, 0))];
      softmax_gradient(target, {logits.row(b), static_cast<std::size_t>(logits.cols)});
    }
    const Gradients gradients{gradients_.data()};
    const MatrixF d_h = d_last_rows_.reshape(layout.batch(), width_);
    head_.backward(normed, logits, head_scratch_, d_h, gradients);
    if (norm_) norm_->backward(d_h, h, norm_tape_.from_row(0), norm_work_, d_h, gradients);
    for (dim_t b = 0; b < layout.batch(); ++b) {
      std::copy_n(d_h.row(b), width_, dy.row(row_at(layout, b, 0)));
    }
  }

  void backward(const TokenBatch& batch) {
    const dim_t rows = batch.tokens();
    dy_.reshape(rows, width_);
    dy_.zero();
    send_errors(batch, dy_);
    for (std::size_t i = blocks_.size(); i-- > 0;) {
      const MatrixF dx = d_inputs_[i].reshape(rows, width_);
      blocks_[i]->backward(batch.layout, inputs_[i], *tapes_[i], dy_, dx, {gradients_.data()});
      copy(dx, dy_);
    }
  }

  dim_t width_;
  ParameterTable table_;
  std::vector<std::unique_ptr<Mixer>> blocks_;
  std::optional<LayerNorm> norm_;
  Linear head_;
  ParameterValues weights_;
  Buffer<float> gradients_;  // nobody reads them
  Matrix embedding_;
  std::vector<std::unique_ptr<MixerTape>> tapes_;
  std::vector<Matrix> inputs_;    // of each block, and of the head
  std::vector<Matrix> d_inputs_;  // of each block
  Matrix dy_;
  Matrix last_rows_;
  Matrix d_last_rows_;
  Matrix normed_;
  Matrix logits_;
  LayerNormTape norm_tape_;
  Buffer<float> norm_work_;
  LinearScratch head_scratch_;
};

std::vector<dim_t> lags_up_to(dim_t longest) {
  std::vector<dim_t> lags = {0};
  for (dim_t lag = 1; lag <= longest; lag *= 2) lags.push_back(lag);
  return lags;
}

/// A model that has seen its calibration.
std::unique_ptr<LanguageModel> calibrated(const RunConfig& config, const std::string& method,
                                          const std::vector<TokenBatch>& calibration,
                                          const LanguageModel& model) {
  const FeedbackConfig feedback = feedback_with(config, method);
  auto twin = with_feedback(config, feedback, model);
  for (dim_t i = 0; i < warm_up_of(feedback); ++i) {
    const TokenBatch& batch = calibration[static_cast<std::size_t>(i)];
    twin->forward_backward(batch, 1.0 / static_cast<double>(batch.tokens()));
  }
  return twin;
}

/// What all methods are measured on: batches to calibrate on and, behind them, batches to measure.
struct LagBatches {
  std::vector<TokenBatch> calibration;
  std::vector<TokenBatch> measured;
  dim_t longest = 0;  // lag
};

LagBatches take_batches(const RunConfig& config, const Dataset& data,
                        const GradientComparisonOptions& options) {
  LagBatches batches;
  dim_t warm_up = 0;
  for (const std::string& method : options.methods) {
    warm_up = std::max(warm_up, warm_up_of(feedback_with(config, method)));
  }
  Batcher batcher = training_batches(config, data.split(options.split), data.tokenizer->bos());
  for (dim_t i = 0; i < warm_up; ++i) batcher.next(batches.calibration.emplace_back());
  for (dim_t i = 0; i < options.batches; ++i) {
    batcher.next(batches.measured.emplace_back());
    batches.longest = std::max(batches.longest, batches.measured.back().layout.steps() - 1);
  }
  return batches;
}

void add_lag(const PackedLayout& layout, dim_t lag, ConstMatrixF own, ConstMatrixF exact,
             AgreementSum& sum) {
  const auto width = static_cast<std::size_t>(exact.cols);
  for (dim_t b = 0; b < layout.batch(); ++b) {
    if (lag >= layout.length(b)) continue;
    const dim_t row = row_at(layout, b, lag);
    sum.add({own.row(row), width}, {exact.row(row), width});
  }
}

MethodLags compare_method(const std::string& method, const LagBatches& batches, Probe& own,
                          Probe& exact) {
  const std::vector<dim_t> lags = lags_up_to(batches.longest);
  const auto blocks = static_cast<std::size_t>(exact.blocks());
  std::vector<std::vector<AgreementSum>> sums(blocks, std::vector<AgreementSum>(lags.size()));
  for (const TokenBatch& batch : batches.measured) {
    exact.run(batch);
    own.run(batch);
    for (std::size_t k = 0; k < blocks; ++k) {
      const auto block = static_cast<dim_t>(k);
      for (std::size_t i = 0; i < lags.size(); ++i) {
        add_lag(batch.layout, lags[i], own.d_input(block), exact.d_input(block), sums[k][i]);
      }
    }
  }
  MethodLags result{method, {}};
  for (const auto& of_block : sums) {
    auto& rows = result.blocks.emplace_back();
    for (std::size_t i = 0; i < lags.size(); ++i) {
      const GradientAgreement agreed = of_block[i].result("");
      const double first = of_block[0].exact_norm();
      rows.push_back({lags[i], agreed.cosine, agreed.norm_ratio,
                      first > 0.0 ? of_block[i].exact_norm() / first : 0.0});
    }
  }
  return result;
}

}  // namespace

std::vector<MethodLags> compare_lags(const RunConfig& config, const Dataset& data,
                                     const LanguageModel& model,
                                     const GradientComparisonOptions& options) {
  if (!cell_of(config.model.mixer)) {
    throw ConfigError(
        fmt::format("model.mixer = \"{}\" has no feedback through time; lags are for {}",
                    name_of(config.model.mixer), in_words(choice_names<CellKind>())));
  }
  const LagBatches batches = take_batches(config, data, options);
  const auto exact_model = calibrated(config, "bptt", batches.calibration, model);
  Probe exact(config, feedback_with(config, "bptt"), *exact_model);
  std::vector<MethodLags> all;
  for (const std::string& method : options.methods) {
    const auto twin = calibrated(config, method, batches.calibration, model);
    Probe own(config, feedback_with(config, method), *twin);
    all.push_back(compare_method(method, batches, own, exact));
  }
  return all;
}

Table lag_table(const std::vector<MethodLags>& methods) {
  std::vector<std::string> headings = {"block", "lag", "BPTT"};
  for (const MethodLags& method : methods) {
    headings.push_back(method.method + " cos");
    headings.emplace_back("norm");
  }
  Table table(headings);
  if (methods.empty()) return table;
  for (std::size_t k = 0; k < methods.front().blocks.size(); ++k) {
    const auto& rows = methods.front().blocks[k];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<std::string> cells = {fmt::format("blocks.{}", k), fmt::to_string(rows[i].lag),
                                        fmt::format("{:.2e}", rows[i].exact_norm)};
      for (const MethodLags& method : methods) {
        cells.push_back(fmt::format("{:.4f}", method.blocks[k][i].cosine));
        cells.push_back(fmt::format("{:.3f}", method.blocks[k][i].norm_ratio));
      }
      table.add_row(std::move(cells));
    }
  }
  return table;
}

}  // namespace dsf
