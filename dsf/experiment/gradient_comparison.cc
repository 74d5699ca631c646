#include "dsf/experiment/gradient_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "dsf/data/batcher.h"
#include "dsf/feedback/feedback_method.h"
#include "dsf/feedback/feedback_registry.h"

namespace dsf {
namespace {

constexpr const char* kTotal = "total";

// The calibration of a method that has one; others are ready at once.
dim_t warm_up_of(const FeedbackConfig& feedback) {
  if (registered_feedback(feedback.method) != nullptr) return 0;
  const FeedbackKind kind = parse_feedback_method(feedback.method).kind;
  const bool fits = kind == FeedbackKind::fitted || kind == FeedbackKind::adaptive;
  return fits ? feedback.calibration : 0;
}

// The same weights with another feedback. DSF's diagonal comes from the run's seed, as in training.
std::unique_ptr<LanguageModel> with_feedback(const RunConfig& config,
                                             const FeedbackConfig& feedback,
                                             const LanguageModel& model) {
  auto twin = std::make_unique<LanguageModel>(config.model, feedback, model.vocab(),
                                              static_cast<std::uint64_t>(config.train.seed));
  std::copy(model.weights().begin(), model.weights().end(), twin->weights().begin());
  twin->prepare(precision_of(config.train));
  return twin;
}

// The mean over `batches` batches of the gradient of each batch's mean loss, `first` batches into
// the split's order of training. The model goes back through the `warm_up` batches before them too.
std::vector<float> mean_gradient(const RunConfig& config, const Split& split, token_t bos,
                                 dim_t warm_up, dim_t first, dim_t batches, LanguageModel& model) {
  Batcher batcher(split, parse_batching(config.data.batching), config.data.context,
                  config.train.batch, bos, static_cast<std::uint64_t>(config.train.seed), true);
  ModelState state;
  if (batcher.carries_state()) state = model.zero_state(batcher.batch_size());
  std::vector<float> mean(static_cast<std::size_t>(model.table().flat_size()));
  TokenBatch batch;
  for (dim_t i = 0; i < first + batches; ++i) {
    if (batcher.at_epoch_start()) {
      for (Matrix& carried : state) carried.zero();
    }
    batcher.next(batch);
    ModelState* carried = batcher.carries_state() ? &state : nullptr;
    if (i < first - warm_up) {
      if (carried != nullptr) model.evaluate(batch, carried);
      continue;
    }
    model.forward_backward(batch, 1.0 / static_cast<double>(batch.tokens()), carried);
    if (i < first) continue;
    const std::span<const float> gradient = model.gradients();
    for (std::size_t j = 0; j < mean.size(); ++j) {
      mean[j] += gradient[j] / static_cast<float>(batches);
    }
  }
  return mean;
}

}  // namespace

GradientAgreement agreement(const std::string& name, std::span<const float> gradient,
                            std::span<const float> exact) {
  double product = 0.0;
  double square = 0.0;
  double exact_square = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const auto g = static_cast<double>(gradient[i]);
    const auto e = static_cast<double>(exact[i]);
    product += g * e;
    square += g * g;
    exact_square += e * e;
  }
  GradientAgreement result{name, 0.0, 0.0};
  if (exact_square > 0.0) result.norm_ratio = std::sqrt(square / exact_square);
  if (square > 0.0 && exact_square > 0.0) {
    result.cosine = product / std::sqrt(square) / std::sqrt(exact_square);
  }
  return result;
}

std::vector<MethodAgreement> compare_gradients(const RunConfig& config, const Dataset& data,
                                               const LanguageModel& model,
                                               const GradientComparisonOptions& options) {
  const Split& split = data.split(options.split);
  const token_t bos = data.tokenizer->bos();
  const auto feedback_of = [&](const std::string& method) {
    FeedbackConfig feedback = config.feedback;
    feedback.method = method;
    return feedback;
  };
  dim_t first = 0;  // the same measured batches for all
  for (const std::string& method : options.methods) {
    first = std::max(first, warm_up_of(feedback_of(method)));
  }
  const auto gradient_of = [&](const FeedbackConfig& feedback) {
    const auto twin = with_feedback(config, feedback, model);
    return mean_gradient(config, split, bos, warm_up_of(feedback), first, options.batches, *twin);
  };

  const std::vector<float> exact = gradient_of(feedback_of("bptt"));
  std::vector<MethodAgreement> all;
  for (const std::string& method : options.methods) {
    const std::vector<float> gradient = gradient_of(feedback_of(method));
    MethodAgreement compared{method, {}};
    for (const ParameterInfo& parameter : model.table().entries()) {
      const auto begin = static_cast<std::size_t>(parameter.id.offset);
      const auto size = static_cast<std::size_t>(parameter.id.size());
      compared.parameters.push_back(agreement(parameter.name,
                                              std::span(gradient).subspan(begin, size),
                                              std::span(exact).subspan(begin, size)));
    }
    compared.parameters.push_back(agreement(kTotal, gradient, exact));
    all.push_back(std::move(compared));
  }
  return all;
}

Table gradient_table(const std::vector<MethodAgreement>& methods) {
  std::vector<std::string> headings = {"parameter"};
  for (const MethodAgreement& method : methods) {
    headings.push_back(method.method + " cos");
    headings.emplace_back("norm");
  }
  Table table(headings);
  const std::size_t rows = methods.empty() ? 0 : methods.front().parameters.size();
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<std::string> cells = {methods.front().parameters[i].parameter};
    for (const MethodAgreement& method : methods) {
      cells.push_back(fmt::format("{:.4f}", method.parameters[i].cosine));
      cells.push_back(fmt::format("{:.3f}", method.parameters[i].norm_ratio));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace dsf
