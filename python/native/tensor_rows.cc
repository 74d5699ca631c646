#include "python/native/tensor_rows.h"

#include <algorithm>

#include "dsf/kernels/bf16_rows.h"
#include "dsf/kernels/parallel.h"

namespace dsf::native {
namespace {

// move(index of the row among those of the steps, its place in the tensor) for all rows, in parallel.
template <typename Move>
void for_each_row(const RowOrder& order, Steps steps, const dsf_rows& tensor, dim_t cols,
                  const Move& move) {
  constexpr dim_t kNumbersPerTask = dim_t{1} << 15U;
  const PackedLayout& layout = order.layout();
  const dim_t first = layout.offset(steps.begin);
  const dim_t step_numbers = std::max<dim_t>(1, layout.rows_at(steps.begin) * cols);
  const dim_t grain = ceil_div(kNumbersPerTask, step_numbers);
  parallel_ranges(steps.end - steps.begin, grain, [&](dim_t begin, dim_t end) {
    for (dim_t t = steps.begin + begin; t < steps.begin + end; ++t) {
      for (dim_t b = 0; b < layout.rows_at(t); ++b) {
        move(layout.offset(t) - first + b, order.place(tensor, t, b));
      }
    }
  });
}

}  // namespace

void load(const void* source, dim_t first, bool bf16, dim_t count, float* target) {
  if (!bf16) {
    std::copy_n(static_cast<const float*>(source) + first, count, target);
    return;
  }
  const bf16_t* __restrict from = static_cast<const bf16_t*>(source) + first;
  for (dim_t j = 0; j < count; ++j) target[j] = to_float(from[j]);
}

void store(const float* source, dim_t count, bool bf16, dim_t first, void* target) {
  if (bf16) {
    to_bf16_row(source, count, static_cast<bf16_t*>(target) + first);
  } else {
    std::copy_n(source, count, static_cast<float*>(target) + first);
  }
}

void gather(const RowOrder& order, Steps steps, const dsf_rows& source, bool bf16, MatrixF target) {
  for_each_row(order, steps, source, target.cols, [&](dim_t row, dim_t place) {
    load(source.data, place, bf16, target.cols, target.row(row));
  });
}

void scatter(const RowOrder& order, Steps steps, ConstMatrixF source, bool bf16,
             const dsf_rows& target) {
  for_each_row(order, steps, target, source.cols, [&](dim_t row, dim_t place) {
    store(source.row(row), source.cols, bf16, place, target.data);
  });
}

}  // namespace dsf::native
