#include "lab/experiment/gradient_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "dsf/feedback/feedback_method.h"
#include "dsf/model/model_tensors.h"
#include "dsf/train/training_batches.h"

namespace dsf {
namespace {

// The mean over `batches` batches of the gradient of each batch's mean loss, `first` batches into
// the split's order of training. The model goes back through the `warm_up` batches before them too.
std::vector<float> mean_gradient(const RunConfig& config, const Split& split, token_t bos,
                                 dim_t warm_up, dim_t first, dim_t batches, LanguageModel& model) {
  Batcher batcher = training_batches(config, split, bos);
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

// "blocks.0.mixer.weight_hh" -> "blocks.0", "head.weight" -> "head".
std::string layer_of(const std::string& parameter) {
  const std::size_t first = parameter.find('.');
  const bool block = parameter.starts_with("blocks.");
  return parameter.substr(0, block ? parameter.find('.', first + 1) : first);
}

// Layers in the order of their first parameters, and behind them the recurrent matrices.
std::vector<GradientAgreement> layer_agreements(const ParameterTable& table,
                                                std::span<const float> gradient,
                                                std::span<const float> exact) {
  std::vector<std::pair<std::string, AgreementSum>> layers;
  AgreementSum recurrent;
  bool is_recurrent = false;
  for (const ParameterInfo& parameter : table.entries()) {
    const std::string layer = layer_of(parameter.name);
    if (layers.empty() || layers.back().first != layer) layers.emplace_back(layer, AgreementSum());
    layers.back().second.add(values_of(parameter, gradient), values_of(parameter, exact));
    if (!parameter.name.ends_with("weight_hh")) continue;
    is_recurrent = true;
    recurrent.add(values_of(parameter, gradient), values_of(parameter, exact));
  }
  std::vector<GradientAgreement> rows;
  rows.reserve(layers.size() + 1);
  for (const auto& [name, sum] : layers) rows.push_back(sum.result(name));
  if (is_recurrent) rows.push_back(recurrent.result(kRecurrentRow));
  return rows;
}

using Rows = std::vector<GradientAgreement> MethodAgreement::*;

Table table_of(const std::string& heading, const std::vector<MethodAgreement>& methods, Rows rows) {
  std::vector<std::string> headings = {heading};
  for (const MethodAgreement& method : methods) {
    headings.push_back(method.method + " cos");
    headings.emplace_back("norm");
  }
  Table table(headings);
  const std::size_t count = methods.empty() ? 0 : (methods.front().*rows).size();
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::string> cells = {(methods.front().*rows)[i].parameter};
    for (const MethodAgreement& method : methods) {
      cells.push_back(fmt::format("{:.4f}", (method.*rows)[i].cosine));
      cells.push_back(fmt::format("{:.3f}", (method.*rows)[i].norm_ratio));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace

void AgreementSum::add(std::span<const float> gradient, std::span<const float> exact) {
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const auto g = static_cast<double>(gradient[i]);
    const auto e = static_cast<double>(exact[i]);
    product_ += g * e;
    square_ += g * g;
    exact_square_ += e * e;
  }
}

double AgreementSum::exact_norm() const { return std::sqrt(exact_square_); }

GradientAgreement AgreementSum::result(const std::string& name) const {
  GradientAgreement result{name, 0.0, 0.0};
  if (exact_square_ > 0.0) result.norm_ratio = std::sqrt(square_ / exact_square_);
  if (square_ > 0.0 && exact_square_ > 0.0) {
    result.cosine = product_ / std::sqrt(square_) / std::sqrt(exact_square_);
  }
  return result;
}

GradientAgreement agreement(const std::string& name, std::span<const float> gradient,
                            std::span<const float> exact) {
  AgreementSum sum;
  sum.add(gradient, exact);
  return sum.result(name);
}

std::optional<GradientAgreement> row_named(const std::vector<GradientAgreement>& rows,
                                           const std::string& name) {
  for (const GradientAgreement& row : rows) {
    if (row.parameter == name) return row;
  }
  return std::nullopt;
}

FeedbackConfig feedback_with(const RunConfig& config, const std::string& method) {
  FeedbackConfig feedback = config.feedback;
  feedback.method = method;
  return feedback;
}

dim_t warm_up_of(const FeedbackConfig& feedback) {
  return learns_from_batches(feedback.method) ? feedback.calibration : 0;
}

std::unique_ptr<LanguageModel> with_feedback(const RunConfig& config,
                                             const FeedbackConfig& feedback,
                                             const LanguageModel& model) {
  auto twin = std::make_unique<LanguageModel>(config.model, feedback, model.vocab(),
                                              static_cast<std::uint64_t>(config.train.seed));
  std::copy(model.weights().begin(), model.weights().end(), twin->mutable_weights().begin());
  twin->set_precision(precision_of(config.train));
  return twin;
}

std::vector<MethodAgreement> compare_gradients(const RunConfig& config, const Dataset& data,
                                               const LanguageModel& model,
                                               const GradientComparisonOptions& options) {
  const Split& split = data.split(options.split);
  const token_t bos = data.tokenizer->bos();
  dim_t first = 0;  // the same measured batches for all
  for (const std::string& method : options.methods) {
    first = std::max(first, warm_up_of(feedback_with(config, method)));
  }
  const auto gradient_of = [&](const FeedbackConfig& feedback) {
    const auto twin = with_feedback(config, feedback, model);
    return mean_gradient(config, split, bos, warm_up_of(feedback), first, options.batches, *twin);
  };

  const std::vector<float> exact = gradient_of(feedback_with(config, "bptt"));
  std::vector<MethodAgreement> all;
  for (const std::string& method : options.methods) {
    const std::vector<float> gradient = gradient_of(feedback_with(config, method));
    MethodAgreement compared{method, {}, layer_agreements(model.table(), gradient, exact)};
    for (const ParameterInfo& parameter : model.table().entries()) {
      compared.parameters.push_back(agreement(parameter.name,
                                              values_of(parameter, std::span(gradient)),
                                              values_of(parameter, std::span(exact))));
    }
    compared.parameters.push_back(agreement(kTotalRow, gradient, exact));
    all.push_back(std::move(compared));
  }
  return all;
}

Table gradient_table(const std::vector<MethodAgreement>& methods) {
  return table_of("parameter", methods, &MethodAgreement::parameters);
}

Table gradient_layer_table(const std::vector<MethodAgreement>& methods) {
  return table_of("layer", methods, &MethodAgreement::layers);
}

}  // namespace dsf
