#pragma once

// The rows of PyTorch's tensors, in whatever order and type they lie in memory, as matrices in the order
// in which a layer walks through them.

#include "dsf/base/bf16.h"
#include "dsf/base/packed_layout.h"
#include "dsf/base/view.h"
#include "python/native/dsf_native.h"

namespace dsf::native {

/// Steps [begin, end) of a batch.
struct Steps {
  dim_t begin = 0;
  dim_t end = 0;
};

/// Where the row of each step and sequence lies in a tensor: [T, B, width] with strides, or [N, width] as in a
/// PackedSequence. A layer that goes backwards in time starts at each sequence's own end.
class RowOrder {
 public:
  RowOrder(const PackedLayout& layout, const dsf_layer& layer)
      : layout_(layout), packed_(layer.batch_sizes != nullptr), reverse_(layer.reverse != 0) {}

  const PackedLayout& layout() const { return layout_; }
  /// Index of the first number of the row of walked step t, sequence b.
  dim_t place(const dsf_rows& rows, dim_t t, dim_t b) const {
    if (reverse_) t = layout_.length(b) - 1 - t;
    return packed_ ? (layout_.offset(t) + b) * rows.sequence : t * rows.step + b * rows.sequence;
  }
  /// From one row to the next, if the tensor's rows of `cols` numbers are those of a matrix in the walk's order;
  /// otherwise 0.
  dim_t matrix_stride(const dsf_rows& rows, dim_t cols) const {
    if (reverse_ && layout_.steps() > 1) return 0;
    if (layout_.total_rows() == 1) return cols;
    const bool regular = packed_ || layout_.batch() == 1 || layout_.steps() == 1 ||
                         rows.step == layout_.batch() * rows.sequence;
    const dim_t stride = !packed_ && layout_.batch() == 1 ? rows.step : rows.sequence;
    return regular && stride >= cols ? stride : 0;
  }

 private:
  const PackedLayout& layout_;
  bool packed_;
  bool reverse_;
};

/// The rows of the steps, from the tensor to `target` [rows of the steps, .], as many columns as that has.
void gather(const RowOrder& order, Steps steps, const dsf_rows& source, bool bf16, MatrixF target);

/// The other way.
void scatter(const RowOrder& order, Steps steps, ConstMatrixF source, bool bf16,
             const dsf_rows& target);

/// One row of a tensor, in either type, from and to float.
void load(const void* source, dim_t first, bool bf16, dim_t count, float* target);
void store(const float* source, dim_t count, bool bf16, dim_t first, void* target);

}  // namespace dsf::native
