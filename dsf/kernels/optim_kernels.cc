#include "dsf/kernels/optim_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/optim_kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for every target.
#include "dsf/kernels/simd_loop-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

void adam_flat(const AdamCoefficients& c, const float* gradient, dim_t n, float* m, float* v,
               float* w) {
  for_each_lane_group(n, [&](auto d, dim_t i) HWY_ATTR {
    const auto w_i = hn::LoadU(d, w + i);
    const auto scaled = hn::Mul(hn::Set(d, c.gradient_scale), hn::LoadU(d, gradient + i));
    const auto g = hn::MulAdd(hn::Set(d, c.l2), w_i, scaled);
    const auto m_i = hn::MulAdd(hn::Set(d, c.beta1), hn::LoadU(d, m + i),
                                hn::Mul(hn::Set(d, c.one_minus_beta1), g));
    const auto v_i = hn::MulAdd(hn::Set(d, c.beta2), hn::LoadU(d, v + i),
                                hn::Mul(hn::Set(d, c.one_minus_beta2), hn::Mul(g, g)));
    const auto denominator =
        hn::MulAdd(hn::Sqrt(v_i), hn::Set(d, c.denominator_scale), hn::Set(d, c.epsilon));
    const auto step = hn::Div(hn::Mul(hn::Set(d, c.rate), m_i), denominator);
    hn::StoreU(m_i, d, m + i);
    hn::StoreU(v_i, d, v + i);
    hn::StoreU(hn::MulSub(hn::Set(d, c.keep), w_i, step), d, w + i);
  });
}

double sum_of_squares_flat(const float* x, dim_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> d_float;
  const auto lanes = static_cast<dim_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  dim_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto x0 = hn::PromoteTo(d, hn::LoadU(d_float, x + i));
    const auto x1 = hn::PromoteTo(d, hn::LoadU(d_float, x + i + lanes));
    sum0 = hn::MulAdd(x0, x0, sum0);
    sum1 = hn::MulAdd(x1, x1, sum1);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {

HWY_EXPORT(adam_flat);
HWY_EXPORT(sum_of_squares_flat);

void adam_step(const AdamCoefficients& coefficients, std::span<const float> gradient,
               std::span<float> m, std::span<float> v, std::span<float> w) {
  HWY_DYNAMIC_DISPATCH(adam_flat)
  (coefficients, gradient.data(), static_cast<dim_t>(w.size()), m.data(), v.data(), w.data());
}

double sum_of_squares(std::span<const float> x) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares_flat)(x.data(), static_cast<dim_t>(x.size()));
}

}  // namespace dsf
#endif  // HWY_ONCE
