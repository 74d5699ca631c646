#include "dsf/kernels/elementwise.h"

#include <algorithm>

#include "dsf/kernels/parallel_tiles.h"
#include "dsf/kernels/rows.h"

// These loops wait for memory: the compiler's own vectorisation at the baseline is enough.

namespace dsf {
namespace {

// Rows of one chunk and columns of one task of column_sums: the running sums of a task stay in the
// first-level cache.
constexpr dim_t kSumRows = 256;
constexpr dim_t kSumCols = 1024;

// sums_j += x_ij for n columns from `col` on.
void add_to_sums(const OperandView& x, dim_t i, dim_t col, dim_t n, float* __restrict sums) {
  if (x.precision == Precision::f32) {
    return add_row(static_cast<const float*>(x.at(i, col)), n, sums);
  }
  const auto* __restrict row = static_cast<const bf16_t*>(x.at(i, col));
  for (dim_t j = 0; j < n; ++j) sums[j] += to_float(row[j]);
}

}  // namespace

void add(ConstMatrixF x, MatrixF y) {
  parallel_tiles(y.rows, y.cols, [&](const Tile& tile) {
    for (dim_t i = tile.row; i < tile.row + tile.rows; ++i) {
      add_row(x.row(i) + tile.col, tile.cols, y.row(i) + tile.col);
    }
  });
}

void copy(ConstMatrixF x, MatrixF y) {
  parallel_tiles(y.rows, y.cols,
                 [&](const Tile& tile) { copy_rows(block(x, tile), block(y, tile)); });
}

void add_bias(const float* bias, MatrixF y) {
  parallel_tiles(y.rows, y.cols, [&](const Tile& tile) {
    for (dim_t i = tile.row; i < tile.row + tile.rows; ++i) {
      add_row(bias + tile.col, tile.cols, y.row(i) + tile.col);
    }
  });
}

void fill(float value, MatrixF y) {
  parallel_tiles(y.rows, y.cols, [&](const Tile& tile) {
    for (dim_t i = tile.row; i < tile.row + tile.rows; ++i) {
      std::fill_n(y.row(i) + tile.col, tile.cols, value);
    }
  });
}

void column_sums(const OperandView& x, Buffer<float>& work, float* sums) {
  if (x.rows == 0 || x.cols == 0) return;
  const dim_t chunks = task_count(x.rows, kSumRows);
  const dim_t ranges = task_count(x.cols, kSumCols);
  work.ensure(chunks * x.cols);
  const MatrixF partial(work.data(), chunks, x.cols);

  parallel_for(chunks * ranges, [&](dim_t task) {
    const dim_t chunk = task / ranges;
    const dim_t col = task % ranges * kSumCols;
    const dim_t cols = std::min(kSumCols, x.cols - col);
    const dim_t begin = chunk * kSumRows;
    const dim_t end = std::min(begin + kSumRows, x.rows);
    float* sum = partial.row(chunk) + col;
    std::fill_n(sum, cols, 0.0F);
    for (dim_t i = begin; i < end; ++i) add_to_sums(x, i, col, cols, sum);
  });

  parallel_ranges(x.cols, kSumCols, [&](dim_t begin, dim_t end) {
    for (dim_t chunk = 0; chunk < chunks; ++chunk) {
      add_row(partial.row(chunk) + begin, end - begin, sums + begin);
    }
  });
}

}  // namespace dsf
