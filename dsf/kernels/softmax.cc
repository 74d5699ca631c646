#include "dsf/kernels/softmax.h"

#include <algorithm>
#include <cmath>

#include "dsf/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/softmax.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for every target.
#include "dsf/kernels/bf16_rows-inl.h"
#include "dsf/kernels/simd_loop-inl.h"
#include "dsf/kernels/softmax-inl.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

// exp(z), NaN for z = NaN, and 0 for z = -infinity. Highway's Exp is 0 for both.
struct MaskingExp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V z) const {
    return hn::IfThenElse(hn::IsNaN(z), z, hn::Exp(d, z));
  }
};

// sum_j e_j with e_j = exp(x_j - max)
float exp_sum(const float* x, dim_t n, float max) {
  return sum_lane_groups(n, [&](auto d, dim_t i) HWY_ATTR {
    return StrictExp()(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, max)));
  });
}

// The same, and x_j = e_j.
template <class ExpFunction>
HWY_INLINE float replace_by_exp(ExpFunction exp, float* x, dim_t n, float max) {
  return sum_lane_groups(n, [&](auto d, dim_t i) HWY_ATTR {
    const auto e = exp(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, max)));
    hn::StoreU(e, d, x + i);
    return e;
  });
}

float strict_exp_in_place(float* x, dim_t n, float max) {
  return replace_by_exp(StrictExp(), x, n, max);
}

float masking_exp_in_place(float* x, dim_t n, float max) {
  return replace_by_exp(MaskingExp(), x, n, max);
}

void scale_row(float factor, dim_t n, float* x) {
  for_each_lane_group(n, [&](auto d, dim_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)), d, x + i);
  });
}

// g_j = factor x_j, handed to `store`;   sums_j += g_j
template <class Store>
HWY_INLINE void scale_row_and_sum(float factor, const float* x, dim_t n, float* sums,
                                  const Store& store) {
  for_each_lane_group(n, [&](auto d, dim_t i) HWY_ATTR {
    const auto g = hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor));
    store(d, g, i);
    hn::StoreU(hn::Add(hn::LoadU(d, sums + i), g), d, sums + i);
  });
}

void scale_row_in_place(float factor, float* x, dim_t n, float* sums) {
  scale_row_and_sum(factor, x, n, sums,
                    [x](auto d, auto g, dim_t i) HWY_ATTR { hn::StoreU(g, d, x + i); });
}

void scale_row_to_bf16(float factor, const float* x, dim_t n, bf16_t* y, float* sums) {
  scale_row_and_sum(factor, x, n, sums,
                    [y](auto d, auto g, dim_t i) HWY_ATTR { store_as_bf16(d, g, y + i); });
}

void add_to_row(const float* b, dim_t n, float* x) {
  for_each_lane_group(n, [&](auto d, dim_t i) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, b + i)), d, x + i);
  });
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {
namespace {

HWY_EXPORT(row_max);
HWY_EXPORT(exp_sum);
HWY_EXPORT(strict_exp_in_place);
HWY_EXPORT(masking_exp_in_place);
HWY_EXPORT(scale_row);
HWY_EXPORT(scale_row_in_place);
HWY_EXPORT(scale_row_to_bf16);
HWY_EXPORT(add_to_row);

// Elements of one task.
constexpr dim_t kTaskElements = 8192;

template <typename Body>
void parallel_rows(dim_t rows, dim_t cols, const Body& body) {
  if (cols == 0) return;
  const dim_t grain = std::max<dim_t>(1, kTaskElements / cols);
  parallel_ranges(rows, grain, [&](dim_t begin, dim_t end) {
    for (dim_t i = begin; i < end; ++i) body(i);
  });
}

// Ties go to the first: the target must be the largest and no element before it as large.
bool is_argmax(const float* x, dim_t target, float max) {
  return x[target] == max && std::find(x, x + target, max) == x + target;
}

// log(sum_k exp(z_k - max)) - (z_target - max)
float loss_of(float exp_sum, float target_logit, float max) {
  return static_cast<float>(std::log(static_cast<double>(exp_sum)) -
                            (static_cast<double>(target_logit) - static_cast<double>(max)));
}

// What both forms of the gradient need of row i. z_j becomes exp(z_j - max); the gradient then is
// z_j factor, less `scale` at the target.
struct ExpRow {
  float* z;
  dim_t target;
  float factor;
};

ExpRow exp_row(MatrixF logits, const CrossEntropy& goal, dim_t i) {
  const auto row = static_cast<std::size_t>(i);
  const dim_t n = logits.cols;
  const dim_t target = goal.targets[row];
  float* z = logits.row(i);
  if (goal.bias != nullptr) HWY_DYNAMIC_DISPATCH(add_to_row)(goal.bias, n, z);
  const float max = HWY_DYNAMIC_DISPATCH(row_max)(z, n);
  const float target_logit = z[target];
  const bool hit = is_argmax(z, target, max);
  const float sum = HWY_DYNAMIC_DISPATCH(strict_exp_in_place)(z, n, max);
  goal.loss[row] = loss_of(sum, target_logit, max);
  goal.correct[row] = hit && !std::isnan(goal.loss[row]) ? 1 : 0;
  return {z, target, goal.scale / sum};
}

// put(i, row, sums) for each row i: writes its gradient and adds that to the sums of its group.
template <typename Put>
void sum_by_groups(MatrixF logits, const CrossEntropy& goal, MatrixF group_sums, const Put& put) {
  parallel_ranges(logits.rows, kGradientGroup, [&](dim_t begin, dim_t end) {
    float* sums = group_sums.row(begin / kGradientGroup);
    std::fill_n(sums, logits.cols, 0.0F);
    for (dim_t i = begin; i < end; ++i) {
      const ExpRow row = exp_row(logits, goal, i);
      put(i, row, sums);
      sums[row.target] -= goal.scale;
    }
  });
}

}  // namespace

void softmax_cross_entropy(MatrixF logits, const CrossEntropy& goal, MatrixF group_sums) {
  sum_by_groups(logits, goal, group_sums, [&](dim_t /*i*/, const ExpRow& row, float* sums) {
    HWY_DYNAMIC_DISPATCH(scale_row_in_place)(row.factor, row.z, logits.cols, sums);
    row.z[row.target] -= goal.scale;
  });
}

void softmax_cross_entropy(MatrixF logits, const CrossEntropy& goal, MatrixView<bf16_t> gradient,
                           MatrixF group_sums) {
  sum_by_groups(logits, goal, group_sums, [&](dim_t i, const ExpRow& row, float* sums) {
    HWY_DYNAMIC_DISPATCH(scale_row_to_bf16)
    (row.factor, row.z, logits.cols, gradient.row(i), sums);
    gradient(i, row.target) = to_bf16(row.z[row.target] * row.factor - goal.scale);
  });
}

void cross_entropy(ConstMatrixF logits, std::span<const token_t> targets, std::span<float> loss,
                   std::span<std::uint8_t> correct) {
  const dim_t n = logits.cols;
  parallel_rows(logits.rows, n, [&](dim_t i) {
    const auto row = static_cast<std::size_t>(i);
    const dim_t target = targets[row];
    const float* z = logits.row(i);
    const float max = HWY_DYNAMIC_DISPATCH(row_max)(z, n);
    const float sum = HWY_DYNAMIC_DISPATCH(exp_sum)(z, n, max);
    loss[row] = loss_of(sum, z[target], max);
    correct[row] = is_argmax(z, target, max) && !std::isnan(loss[row]) ? 1 : 0;
  });
}

void softmax(MatrixF rows) {
  parallel_rows(rows.rows, rows.cols, [&](dim_t i) {
    float* z = rows.row(i);
    const float max = HWY_DYNAMIC_DISPATCH(row_max)(z, rows.cols);
    const float sum = HWY_DYNAMIC_DISPATCH(masking_exp_in_place)(z, rows.cols, max);
    HWY_DYNAMIC_DISPATCH(scale_row)(1.0F / sum, rows.cols, z);
  });
}

}  // namespace dsf
#endif  // HWY_ONCE
