#include "dsf/kernels/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "dsf/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/layer_norm.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for every target.
#include "dsf/kernels/simd_loop-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

float row_mean(const float* x, dim_t n) {
  const float sum =
      sum_lane_groups(n, [&](auto d, dim_t i) HWY_ATTR { return hn::LoadU(d, x + i); });
  return sum / static_cast<float>(n);
}

// sum_j (x_j - mean)^2 / n: from the centred values, since E[x^2] - mean^2 would cancel.
float row_variance(const float* x, dim_t n, float mean) {
  const float sum = sum_lane_groups(n, [&](auto d, dim_t i) HWY_ATTR {
    const auto centred = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    return hn::Mul(centred, centred);
  });
  return sum / static_cast<float>(n);
}

// y_j = gamma_j (x_j - mean) rstd + beta_j
void normalise_row(const float* x, dim_t n, LayerNormWeights weights, float mean, float rstd,
                   float* y) {
  for_each_lane_group(n, [&](auto d, dim_t i) HWY_ATTR {
    const auto centred = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    const auto x_hat = hn::Mul(centred, hn::Set(d, rstd));
    const auto gamma = hn::LoadU(d, weights.gamma + i);
    hn::StoreU(hn::MulAdd(gamma, x_hat, hn::LoadU(d, weights.beta + i)), d, y + i);
  });
}

// dx of one row; dgamma += dy x^ and dbeta += dy on the way.
void gradient_row(const float* dy, const float* x, const float* gamma, float mean, float rstd,
                  dim_t n, float* dx, float* dgamma, float* dbeta) {
  const auto x_hat = [&](auto d, dim_t i) HWY_ATTR {
    return hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)), hn::Set(d, rstd));
  };
  const float sum = sum_lane_groups(n, [&](auto d, dim_t i) HWY_ATTR {
    const auto dy_i = hn::LoadU(d, dy + i);
    hn::StoreU(hn::MulAdd(dy_i, x_hat(d, i), hn::LoadU(d, dgamma + i)), d, dgamma + i);
    hn::StoreU(hn::Add(dy_i, hn::LoadU(d, dbeta + i)), d, dbeta + i);
    return hn::Mul(dy_i, hn::LoadU(d, gamma + i));
  });
  const float dot = sum_lane_groups(n, [&](auto d, dim_t i) HWY_ATTR {
    return hn::Mul(hn::Mul(hn::LoadU(d, dy + i), hn::LoadU(d, gamma + i)), x_hat(d, i));
  });
  const float mean_d = sum / static_cast<float>(n);
  const float mean_dot = dot / static_cast<float>(n);
  for_each_lane_group(n, [&](auto d, dim_t i) HWY_ATTR {
    const auto d_i = hn::Mul(hn::LoadU(d, dy + i), hn::LoadU(d, gamma + i));
    const auto along = hn::MulAdd(x_hat(d, i), hn::Set(d, mean_dot), hn::Set(d, mean_d));
    hn::StoreU(hn::Mul(hn::Sub(d_i, along), hn::Set(d, rstd)), d, dx + i);
  });
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {
namespace {

HWY_EXPORT(row_mean);
HWY_EXPORT(row_variance);
HWY_EXPORT(normalise_row);
HWY_EXPORT(gradient_row);

// Rows of one task, and of one partial sum of the gradients.
constexpr dim_t kRowsPerTask = 32;

}  // namespace

void layer_norm_forward(ConstMatrixF x, LayerNormWeights weights, LayerNormStatistics statistics,
                        MatrixF y) {
  if (x.empty()) return;
  parallel_ranges(x.rows, kRowsPerTask, [&](dim_t begin, dim_t end) {
    for (dim_t i = begin; i < end; ++i) {
      const float mean = HWY_DYNAMIC_DISPATCH(row_mean)(x.row(i), x.cols);
      const float variance = HWY_DYNAMIC_DISPATCH(row_variance)(x.row(i), x.cols, mean);
      const float rstd = 1.0F / std::sqrt(variance + kLayerNormEpsilon);
      HWY_DYNAMIC_DISPATCH(normalise_row)(x.row(i), x.cols, weights, mean, rstd, y.row(i));
      statistics.mean[i] = mean;
      statistics.rstd[i] = rstd;
    }
  });
}

void layer_norm_backward(ConstMatrixF dy, ConstMatrixF x, const float* gamma,
                         LayerNormStatistics statistics, Buffer<float>& work, MatrixF dx,
                         LayerNormGradients gradients) {
  if (x.empty()) return;
  const dim_t tasks = task_count(x.rows, kRowsPerTask);
  work.ensure(2 * tasks * x.cols);
  const MatrixF dgamma(work.data(), tasks, x.cols);
  const MatrixF dbeta(work.data() + tasks * x.cols, tasks, x.cols);

  parallel_for(tasks, [&](dim_t task) {
    std::fill_n(dgamma.row(task), x.cols, 0.0F);
    std::fill_n(dbeta.row(task), x.cols, 0.0F);
    const dim_t begin = task * kRowsPerTask;
    const dim_t end = std::min(begin + kRowsPerTask, x.rows);
    for (dim_t i = begin; i < end; ++i) {
      HWY_DYNAMIC_DISPATCH(gradient_row)
      (dy.row(i), x.row(i), gamma, statistics.mean[i], statistics.rstd[i], x.cols, dx.row(i),
       dgamma.row(task), dbeta.row(task));
    }
  });

  constexpr dim_t kColumnsPerTask = 512;
  parallel_ranges(x.cols, kColumnsPerTask, [&](dim_t begin, dim_t end) {
    for (dim_t task = 0; task < tasks; ++task) {
      for (dim_t j = begin; j < end; ++j) {
        gradients.gamma[j] += dgamma(task, j);
        gradients.beta[j] += dbeta(task, j);
      }
    }
  });
}

}  // namespace dsf
#endif  // HWY_ONCE
