#include "dsf/kernels/causal_softmax.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/causal_softmax.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for every target.
#include "dsf/kernels/simd_loop-inl.h"
#include "dsf/kernels/softmax-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

// z_j = exp(scale z_j - shift); returns the sum.
HWY_INLINE float replace_by_exp(float scale, float shift, float* z, dim_t n) {
  return sum_lane_groups(n, [&](auto d, dim_t j) HWY_ATTR {
    const auto exponent = hn::MulSub(hn::Set(d, scale), hn::LoadU(d, z + j), hn::Set(d, shift));
    const auto e = StrictExp()(d, exponent);
    hn::StoreU(e, d, z + j);
    return e;
  });
}

void softmax_rows(dim_t first, float scale, MatrixF z, float* lse) {
  for (dim_t r = 0; r < z.rows; ++r) {
    float* row = z.row(r);
    const dim_t n = first + r + 1;
    const float shift = scale * row_max(row, n);
    const float sum = replace_by_exp(scale, shift, row, n);
    for_each_lane_group(n, [&](auto d, dim_t j) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::LoadU(d, row + j), hn::Set(d, 1.0F / sum)), d, row + j);
    });
    std::fill(row + n, row + z.cols, 0.0F);
    lse[r] = shift + static_cast<float>(std::log(static_cast<double>(sum)));
  }
}

void softmax_rows_from_lse(dim_t first, float scale, const float* lse, MatrixF z) {
  for (dim_t r = 0; r < z.rows; ++r) {
    float* row = z.row(r);
    const dim_t n = first + r + 1;
    replace_by_exp(scale, lse[r], row, n);
    std::fill(row + n, row + z.cols, 0.0F);
  }
}

void softmax_rows_backward(dim_t first, float scale, ConstMatrixF p, MatrixF dp) {
  for (dim_t r = 0; r < p.rows; ++r) {
    const float* p_row = p.row(r);
    float* row = dp.row(r);
    const dim_t n = first + r + 1;
    const float sum = sum_lane_groups(n, [&](auto d, dim_t j) HWY_ATTR {
      return hn::Mul(hn::LoadU(d, p_row + j), hn::LoadU(d, row + j));
    });
    for_each_lane_group(n, [&](auto d, dim_t j) HWY_ATTR {
      const auto centred = hn::Sub(hn::LoadU(d, row + j), hn::Set(d, sum));
      const auto weight = hn::Mul(hn::Set(d, scale), hn::LoadU(d, p_row + j));
      hn::StoreU(hn::Mul(weight, centred), d, row + j);
    });
    std::fill(row + n, row + dp.cols, 0.0F);
  }
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(softmax_rows_from_lse);
HWY_EXPORT(softmax_rows_backward);

void causal_softmax(dim_t first, float scale, MatrixF z, float* lse) {
  HWY_DYNAMIC_DISPATCH(softmax_rows)(first, scale, z, lse);
}

void causal_softmax_from_lse(dim_t first, float scale, const float* lse, MatrixF z) {
  HWY_DYNAMIC_DISPATCH(softmax_rows_from_lse)(first, scale, lse, z);
}

void causal_softmax_backward(dim_t first, float scale, ConstMatrixF p, MatrixF dp) {
  HWY_DYNAMIC_DISPATCH(softmax_rows_backward)(first, scale, p, dp);
}

}  // namespace dsf
#endif  // HWY_ONCE
