#pragma once

// General matrix products on views: the only header through which oneDNN is reached.
//
//   C  = op(A) op(B)          Into::overwrite
//   C += op(A) op(B)          Into::accumulate
//
// A and B are operands in f32 or both in bf16; sums are always f32, C is always f32. A bf16 operand
// on a CPU without matrix instructions for it (AMX) is widened and multiplied in f32: the same
// mathematics, so that a run means the same thing everywhere, only no faster.
//
// Results do not depend on the number of threads: C is cut into tiles by its shape alone.
// `gemm` spreads the tiles over the thread pool; inside a task of parallel_for it runs on that
// thread.

#include <memory>

#include "dsf/base/bf16.h"
#include "dsf/base/buffer.h"
#include "dsf/base/view.h"

namespace dsf {

enum class Precision { f32, bf16 };
enum class Op { none, transpose };
enum class Into { overwrite, accumulate };

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
};

/// True where bf16 GEMMs run on matrix units (AMX), that is, faster than f32.
bool has_fast_bf16();

/// f32 -> bf16, elementwise over equal shapes; parallel over rows.
void convert_to_bf16(ConstMatrixF source, MatrixView<bf16_t> target);

/// Presents f32 data in the precision a GEMM wants: f32 is passed through without a copy, bf16 is
/// converted into a buffer owned here, valid until the next call.
class OperandScratch {
 public:
  OperandView operator()(ConstMatrixF source, Precision precision);

 private:
  Buffer<bf16_t> buffer_;
};

/// A weight matrix converted and packed once and multiplied by many times: the right operand B of
/// C = A B, where B is `source` or its transpose. Holds a copy: pack again after every change,
/// which reuses the memory. May be read by several threads at once.
class PackedWeights {
 public:
  PackedWeights();
  ~PackedWeights();
  PackedWeights(PackedWeights&&) noexcept;
  PackedWeights& operator=(PackedWeights&&) noexcept;

  void pack(ConstMatrixF source, Op op, Precision precision);

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// C (+)= op(A) op(B). A and B have the same precision.
void gemm(Op op_a, OperandView a, Op op_b, OperandView b, Into into, MatrixF c);

/// C (+)= A B with packed B. A has the precision B was packed in.
void gemm(OperandView a, const PackedWeights& b, Into into, MatrixF c);

}  // namespace dsf
