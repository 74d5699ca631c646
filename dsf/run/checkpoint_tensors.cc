#include "dsf/run/checkpoint_tensors.h"

#include <fmt/format.h>

#include <utility>

#include "dsf/base/error.h"
#include "dsf/model/model_tensors.h"

namespace dsf {
namespace {

std::string state_name(std::size_t block) { return fmt::format("blocks.{}.state", block); }

}  // namespace

std::vector<TensorToWrite> weight_tensors(LanguageModel& model) {
  std::vector<TensorToWrite> tensors;
  for (ModelTensor& tensor : model_tensors(model)) {
    tensors.push_back({std::move(tensor.name), std::move(tensor.shape), tensor.values});
  }
  return tensors;
}

std::vector<TensorToWrite> moment_tensors(const ParameterTable& table, const AdamState& adam) {
  std::vector<TensorToWrite> tensors;
  if (adam.m.empty()) return tensors;  // before the first update
  for (const ParameterInfo& parameter : table.entries()) {
    const std::vector<dim_t> shape = shape_of(parameter);
    tensors.push_back({"m." + parameter.name, shape, values_of(parameter, adam.m.span())});
    tensors.push_back({"v." + parameter.name, shape, values_of(parameter, adam.v.span())});
  }
  return tensors;
}

std::vector<TensorToWrite> carried_tensors(const ModelState& carried) {
  std::vector<TensorToWrite> tensors;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const Matrix& values = carried[i];
    tensors.push_back({state_name(i), {values.rows(), values.cols()}, values.span()});
  }
  return tensors;
}

void check_weights(const SafetensorsFile& file, const std::string& origin, LanguageModel& model) {
  const std::vector<TensorToWrite> expected = weight_tensors(model);
  for (const TensorToWrite& tensor : expected) file.require(tensor.name, tensor.shape);
  if (file.tensors().size() == expected.size()) return;
  throw CheckpointError(fmt::format("{}: holds {} tensors, the model has {}", origin,
                                    file.tensors().size(), expected.size()));
}

void fill_weights(const SafetensorsFile& file, LanguageModel& model) {
  for (const ModelTensor& tensor : model_tensors(model)) file.copy_to(tensor.name, tensor.values);
}

void read_moments(const SafetensorsFile& file, const ParameterTable& table, AdamState& adam) {
  if (file.tensors().empty()) return;
  adam.m.resize(table.flat_size());
  adam.v.resize(table.flat_size());
  for (const ParameterInfo& parameter : table.entries()) {
    file.copy_to("m." + parameter.name, values_of(parameter, adam.m.span()));
    file.copy_to("v." + parameter.name, values_of(parameter, adam.v.span()));
  }
}

ModelState read_carried(const SafetensorsFile& file) {
  ModelState carried;
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const auto found = file.tensors().find(state_name(i));
    if (found == file.tensors().end() || found->second.shape.size() != 2) {
      throw CheckpointError("the carried states do not fit the model");
    }
    const std::vector<dim_t>& shape = found->second.shape;
    file.copy_to(found->first, carried.emplace_back(shape[0], shape[1]).span());
  }
  return carried;
}

}  // namespace dsf
