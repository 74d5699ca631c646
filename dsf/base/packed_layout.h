#pragma once

// Where the rows of a packed, time-major batch lie.
//
//   T steps, B sequences, N rows = tokens of the batch.
//
// The sequences of a batch are sorted by length, longest first, so step t holds the first B_t
// sequences and nothing is padded:
//
//   rows        | step 0: B_0 rows | step 1: B_1 rows | ... | step T-1 |      B_0 >= B_1 >= ... > 0
//   offset(t)   = B_0 + ... + B_{t-1}
//   row(t, b)   = offset(t) + b           for b < B_t
//
// The predecessor of row (t, b) is row (t-1, b), or row b of the initial state for t = 0.

#include <vector>

#include "dsf/base/dim.h"

namespace dsf {

/// The shape of a batch: how many sequences are alive at each step, and where their rows lie.
class PackedLayout {
 public:
  PackedLayout() = default;
  /// `rows_per_step`: B_0 >= B_1 >= ... > 0. Throws DataError if it is not so.
  explicit PackedLayout(std::vector<dim_t> rows_per_step);
  /// All `batch` sequences `steps` long.
  static PackedLayout uniform(dim_t steps, dim_t batch);

  dim_t steps() const { return static_cast<dim_t>(rows_.size()); }             ///< T
  dim_t batch() const { return rows_.empty() ? 0 : rows_.front(); }            ///< B
  dim_t total_rows() const { return offset_.empty() ? 0 : offset_.back(); }    ///< N
  dim_t rows_at(dim_t t) const { return rows_[static_cast<std::size_t>(t)]; }  ///< B_t
  dim_t offset(dim_t t) const { return offset_[static_cast<std::size_t>(t)]; }
  /// Number of steps at which sequence b is alive.
  dim_t length(dim_t b) const { return lengths_[static_cast<std::size_t>(b)]; }
  /// True if all sequences are equally long: then row (t-1, b) is row (t, b) - B everywhere.
  bool is_uniform() const { return rows_.empty() || rows_.front() == rows_.back(); }

 private:
  std::vector<dim_t> rows_;
  std::vector<dim_t> offset_;  // T + 1 entries
  std::vector<dim_t> lengths_;
};

/// The rows of one step that belong to the sequences [begin, end) of the batch.
struct StepRows {
  dim_t t = 0;
  dim_t begin = 0;  ///< first sequence
  dim_t count = 0;  ///< how many of the slice are alive at step t (may be 0)
};

/// Rows of the slice [begin, end) at step t: those of its sequences that are still alive.
StepRows slice_at(const PackedLayout& layout, dim_t t, dim_t begin, dim_t end);

}  // namespace dsf
