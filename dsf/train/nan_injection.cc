#include "dsf/train/nan_injection.h"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>

#include "dsf/base/error.h"
#include "dsf/model/model_tensors.h"

namespace dsf {
namespace {

struct Injection {
  dim_t step = -1;  // none
  std::string kind;
  std::string name;
  std::size_t index = 0;
};

Injection from_environment() {
  const char* text = std::getenv("DSF_NAN");
  if (text == nullptr) return {};
  Injection injection;
  std::istringstream in(text);
  char colon = 0;
  in >> injection.step >> colon;
  std::getline(in, injection.kind, ':');
  std::getline(in, injection.name, ':');
  in >> injection.index;
  if (in.fail() || colon != ':') {
    throw UsageError(fmt::format("DSF_NAN={}: must be STEP:KIND:NAME:INDEX", text));
  }
  return injection;
}

// The numbers that an injection names; empty where there are none.
std::span<float> target_of(const Injection& injection, LanguageModel& model, TrainingState& state) {
  for (const ParameterInfo& parameter : model.table().entries()) {
    if (parameter.name != injection.name) continue;
    if (injection.kind == "gradient") return values_of(parameter, model.gradients());
    if (injection.kind == "weight") return values_of(parameter, model.mutable_weights());
    if (injection.kind == "m") return values_of(parameter, state.adam.m.span());
    if (injection.kind == "v") return values_of(parameter, state.adam.v.span());
  }
  for (const NamedBuffer& buffer : model.buffers()) {
    if (injection.kind == "buffer" && buffer.name == injection.name) return buffer.values;
  }
  for (std::size_t i = 0; i < state.carried.size(); ++i) {
    if (injection.kind == "carried" && std::to_string(i) == injection.name) {
      return state.carried[i].span();
    }
  }
  return {};
}

}  // namespace

void inject_nan(dim_t step, LossSum& sum, LanguageModel& model, TrainingState& state) {
  static const Injection injection = from_environment();
  if (step != injection.step) return;
  if (injection.kind == "loss") {
    sum.loss = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  const std::span<float> values = target_of(injection, model, state);
  if (injection.index >= values.size()) {
    throw UsageError(fmt::format("DSF_NAN: there is no {} {} with a number {}", injection.kind,
                                 injection.name, injection.index));
  }
  values[injection.index] = std::numeric_limits<float>::quiet_NaN();
}

}  // namespace dsf
