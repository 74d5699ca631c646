#include "dsf/run/finite.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "dsf/model/model_tensors.h"

namespace dsf {
namespace {

std::string first_not_finite_moment(const ParameterTable& table, const AdamState& adam) {
  if (adam.m.size() != table.flat_size()) {  // none yet, or the part that a rank keeps
    return all_finite(adam.m.span()) && all_finite(adam.v.span()) ? "" : "a moment of this rank";
  }
  for (const ParameterInfo& parameter : table.entries()) {
    if (!all_finite(values_of(parameter, adam.m.span()))) return "m." + parameter.name;
    if (!all_finite(values_of(parameter, adam.v.span()))) return "v." + parameter.name;
  }
  return "";
}

}  // namespace

// Infinities and NaNs are the numbers with all bits of the exponent set. No early return: this form
// of the loop is one that compilers turn into vector code.
bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  std::uint32_t found = 0;
  for (const float value : values) {
    found |=
        static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent);
  }
  return found == 0;
}

std::string first_not_finite_gradient(LanguageModel& model) {
  for (const ParameterInfo& parameter : model.table().entries()) {
    if (!all_finite(values_of(parameter, model.gradients()))) {
      return "the gradient of " + parameter.name;
    }
  }
  return "";
}

std::string first_not_finite(LanguageModel& model, const TrainingState& state) {
  for (const ModelTensor& tensor : model_tensors(model)) {
    if (!all_finite(tensor.values)) return tensor.name;
  }
  if (std::string moment = first_not_finite_moment(model.table(), state.adam); !moment.empty()) {
    return moment;
  }
  for (std::size_t i = 0; i < state.carried.size(); ++i) {
    if (!all_finite(state.carried[i].span()))
      return fmt::format("the carried state of block {}", i);
  }
  if (!std::isfinite(state.since_log.loss) || !std::isfinite(state.since_eval.loss)) {
    return "the sum of the losses";
  }
  if (state.best_loss && !std::isfinite(*state.best_loss)) return "the best loss";
  return "";
}

}  // namespace dsf
