#include "dsf/model/model_tensors.h"

namespace dsf {

std::vector<dim_t> shape_of(const ParameterInfo& parameter) {
  if (parameter.vector) return {parameter.id.cols};
  return {parameter.id.rows, parameter.id.cols};
}

std::vector<ModelTensor> model_tensors(LanguageModel& model) {
  std::vector<ModelTensor> tensors;
  const std::span<float> weights = model.mutable_weights();
  for (const ParameterInfo& parameter : model.table().entries()) {
    tensors.push_back({parameter.name, shape_of(parameter), values_of(parameter, weights), true});
  }
  for (const NamedBuffer& buffer : model.buffers()) {
    tensors.push_back(
        {buffer.name, {static_cast<dim_t>(buffer.values.size())}, buffer.values, false});
  }
  return tensors;
}

}  // namespace dsf
