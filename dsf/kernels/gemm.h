#pragma once

// General matrix products on views; packed_weights.h has those with a factor that is used many times.
//
//   C  = op(A) op(B)          Into::overwrite
//   C += op(A) op(B)          Into::accumulate
//
// A and B are operands in f32 or both in bf16; sums are always f32, C is always f32. A bf16 operand
// on a CPU that does not multiply bf16 faster than f32 is widened and multiplied in f32: the same
// mathematics, so that a run means the same thing everywhere, only no faster.
//
// Results do not depend on the number of threads: C is cut into tiles by its shape alone, or in ways
// that all take the terms of a sum in the same order. `gemm` spreads the tiles
// over the thread pool; inside a task of parallel_for it runs on that thread.

#include <cstddef>
#include <string_view>

#include "dsf/base/bf16.h"
#include "dsf/base/buffer.h"
#include "dsf/base/view.h"

namespace dsf {

enum class Precision { f32, bf16 };
enum class Op { none, transpose };
enum class Into { overwrite, accumulate };

constexpr dim_t element_bytes(Precision precision) {
  return precision == Precision::f32 ? dim_t{sizeof(float)} : dim_t{sizeof(bf16_t)};
}

/// A GEMM input in the precision it is read in. Not owning.
struct OperandView {
  const void* data = nullptr;
  Precision precision = Precision::f32;
  dim_t rows = 0;
  dim_t cols = 0;
  dim_t stride = 0;

  OperandView() = default;
  OperandView(ConstMatrixF m)
      : data(m.data), precision(Precision::f32), rows(m.rows), cols(m.cols), stride(m.stride) {}
  OperandView(MatrixF m) : OperandView(ConstMatrixF(m)) {}
  OperandView(MatrixView<const bf16_t> m)
      : data(m.data), precision(Precision::bf16), rows(m.rows), cols(m.cols), stride(m.stride) {}
  OperandView(MatrixView<bf16_t> m) : OperandView(MatrixView<const bf16_t>(m)) {}

  /// The address of an element.
  const void* at(dim_t row, dim_t col) const {
    return static_cast<const std::byte*>(data) + (row * stride + col) * element_bytes(precision);
  }
  /// Rows [row, row + row_count), of these columns [col, col + col_count).
  OperandView block(dim_t row, dim_t row_count, dim_t col, dim_t col_count) const {
    OperandView part = *this;
    part.data = at(row, col);
    part.rows = row_count;
    part.cols = col_count;
    return part;
  }
};

/// What multiplies bf16: AMX's tiles, the pairs of AVX512-BF16 through libxsmm if that is faster
/// than f32, or f32 itself. Decided once.
enum class Bf16 { emulated, avx512_bf16, amx };
Bf16 bf16_by();
std::string_view name_of(Bf16 bf16);

/// True if bf16 GEMMs are faster than f32.
bool has_fast_bf16();

/// f32 -> bf16, elementwise over equal shapes; parallel over rows.
void convert_to_bf16(ConstMatrixF source, MatrixView<bf16_t> target);

/// Presents f32 data in the precision a GEMM wants: f32 is passed through without a copy, bf16 is
/// converted into a buffer owned here, valid until the next call.
class OperandScratch {
 public:
  /// `is_here`: these numbers have been converted into the buffer already, by the last call or by
  /// whoever asked for room. In f32 it means nothing.
  OperandView operator()(ConstMatrixF source, Precision precision, bool is_here = false);
  /// Room for numbers that the caller rounds.
  MatrixView<bf16_t> reshape(dim_t rows, dim_t cols);

 private:
  Buffer<bf16_t> buffer_;
};

/// C (+)= op(A) op(B). A and B have the same precision.
void gemm(Op op_a, OperandView a, Op op_b, OperandView b, Into into, MatrixF c);

}  // namespace dsf
