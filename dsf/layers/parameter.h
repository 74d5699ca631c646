#pragma once

// Names, shapes and places of parameters, and their values. The values lie in one flat buffer, a
// ParameterValues; a layer holds ParameterIds and sees values only through the Weights and Gradients
// that it is handed.
//
// A layer converts and packs its weights for matrix products, and keeps what it packed. Each change
// of a ParameterValues gives it a version that nothing else in the process has. The Weights of every
// forward pass carry that version, and a layer packs them if it holds another one.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dsf/base/buffer.h"
#include "dsf/base/dim.h"
#include "dsf/base/view.h"
#include "dsf/kernels/gemm.h"

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

/// Read-only values of all parameters, as a forward pass is handed them. Only a ParameterValues makes
/// them, so that no values reach a layer without their version; by default there are none. They point
/// into the ParameterValues, which has to live until the backward pass is done.
class Weights {
 public:
  Weights() = default;

  ConstMatrixF operator()(ParameterId id) const { return {flat_ + id.offset, id.rows, id.cols}; }
  const float* vector(ParameterId id) const { return flat_ + id.offset; }
  /// Layers multiply by these values in this precision.
  Precision precision() const { return precision_; }
  /// Equal versions mean the same values in the same memory and precision.
  std::uint64_t version() const { return version_; }

 private:
  friend class ParameterValues;
  Weights(const float* flat, Precision precision, std::uint64_t version)
      : flat_(flat), precision_(precision), version_(version) {}

  const float* flat_ = nullptr;
  Precision precision_ = Precision::f32;
  std::uint64_t version_ = 0;
};

/// Owns the values of all parameters of a table, and knows when they change. Move-only; the version
/// moves with the values.
class ParameterValues {
 public:
  /// All values start at zero. The table has to be complete: every layer has added its parameters.
  explicit ParameterValues(const ParameterTable& table, Precision precision = Precision::f32);
  ParameterValues(ParameterValues&& other) noexcept { swap(other); }
  ParameterValues& operator=(ParameterValues&& other) noexcept {
    swap(other);
    return *this;
  }
  ParameterValues(const ParameterValues&) = delete;
  ParameterValues& operator=(const ParameterValues&) = delete;
  ~ParameterValues() = default;

  /// The values lie where the table says.
  std::span<const float> span() const { return flat_.span(); }
  /// The same, to be changed. Take it anew for each change: layers pack the values again because it
  /// was taken.
  std::span<float> mutable_span();

  /// Layers multiply by these values in this precision.
  void set_precision(Precision precision);

  /// A forward pass is handed this.
  operator Weights() const { return {flat_.data(), precision_, version_}; }

 private:
  void swap(ParameterValues& other) noexcept {
    std::swap(flat_, other.flat_);
    std::swap(precision_, other.precision_);
    std::swap(version_, other.version_);
  }

  Buffer<float> flat_;
  Precision precision_ = Precision::f32;
  std::uint64_t version_ = 0;
};

/// Knows which version of the weights a layer holds packed. At first it holds none.
class PackedVersion {
 public:
  /// Calls `pack` if these weights are not the ones that were packed last. If it throws, nothing
  /// counts as packed.
  template <typename Pack>
  void renew(Weights weights, const Pack& pack) {
    if (version_ == weights.version()) return;
    version_ = kNone;
    pack();
    version_ = weights.version();
  }

 private:
  // Versions count up from 1 and never get there; 0 is what empty Weights have.
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t version_ = kNone;
};

/// Gradients of all parameters: always accumulated into.
struct Gradients {
  float* flat = nullptr;
  MatrixF operator()(ParameterId id) const { return {flat + id.offset, id.rows, id.cols}; }
  float* vector(ParameterId id) const { return flat + id.offset; }
};

}  // namespace dsf
