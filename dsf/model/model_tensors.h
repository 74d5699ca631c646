#pragma once

// A model as files see it: named arrays.

#include <span>
#include <string>
#include <vector>

#include "dsf/layers/parameter.h"
#include "dsf/model/language_model.h"

namespace dsf {

/// The shape files keep: a vector has one size.
std::vector<dim_t> shape_of(const ParameterInfo& parameter);

/// A parameter's part of a flat buffer.
template <typename T>
std::span<T> values_of(const ParameterInfo& parameter, std::span<T> flat) {
  return flat.subspan(static_cast<std::size_t>(parameter.id.offset),
                      static_cast<std::size_t>(parameter.id.size()));
}

struct ModelTensor {
  std::string name;
  std::vector<dim_t> shape;
  std::span<float> values;
  bool trained = true;  ///< false: one of the model's buffers
};

/// All parameters in the table's order, then the buffers; to be read or changed.
std::vector<ModelTensor> model_tensors(LanguageModel& model);

}  // namespace dsf
