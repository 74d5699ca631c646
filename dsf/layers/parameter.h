#pragma once

// Names, shapes and places of parameters. Values live in flat buffers that the model owns; a layer
// holds ParameterIds and sees values only through the Weights and Gradients it is handed.

#include <string>
#include <vector>

#include "dsf/base/dim.h"
#include "dsf/base/view.h"

namespace dsf {

/// How a parameter starts.
struct Init {
  enum class Kind { zero, one, normal, uniform } kind = Kind::zero;
  float scale = 0.0F;  ///< deviation of normal; half width of uniform

  static Init zeros() { return {Kind::zero, 0.0F}; }
  static Init ones() { return {Kind::one, 0.0F}; }
  static Init normal(float deviation) { return {Kind::normal, deviation}; }
  static Init uniform(float half_width) { return {Kind::uniform, half_width}; }
};

/// A parameter's place in the flat buffers.
struct ParameterId {
  dim_t offset = 0;
  dim_t rows = 0;
  dim_t cols = 0;
  dim_t size() const { return rows * cols; }
};

/// One row of the table. Vectors are 1 x n; `vector` says so, for files that keep the rank.
struct ParameterInfo {
  std::string name;
  ParameterId id;
  Init init;
  bool vector = false;
};

/// The flat buffer's table of contents, filled while the model is put together. Every parameter
/// starts on a cache line.
class ParameterTable {
 public:
  ParameterId add_matrix(std::string name, dim_t rows, dim_t cols, Init init);
  ParameterId add_vector(std::string name, dim_t size, Init init);

  const std::vector<ParameterInfo>& entries() const { return entries_; }
  /// Floats in the flat buffer, alignment gaps included.
  dim_t flat_size() const { return flat_size_; }
  /// Numbers that are trained.
  dim_t parameter_count() const;

 private:
  ParameterId add(std::string name, dim_t rows, dim_t cols, Init init, bool vector);

  std::vector<ParameterInfo> entries_;
  dim_t flat_size_ = 0;
};

/// Read-only values of all parameters.
struct Weights {
  const float* flat = nullptr;
  ConstMatrixF operator()(ParameterId id) const { return {flat + id.offset, id.rows, id.cols}; }
  const float* vector(ParameterId id) const { return flat + id.offset; }
};

/// Gradients of all parameters: always accumulated into.
struct Gradients {
  float* flat = nullptr;
  MatrixF operator()(ParameterId id) const { return {flat + id.offset, id.rows, id.cols}; }
  float* vector(ParameterId id) const { return flat + id.offset; }
};

}  // namespace dsf
