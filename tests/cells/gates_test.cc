// The gate kernels on their own: accuracy over the whole range of arguments, extremes, remainders.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "dsf/kernels/gates_gru.h"
#include "dsf/kernels/gates_lstm.h"
#include "dsf/kernels/gates_rnn.h"

namespace dsf {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// The first state of an LSTM whose input gate is open, candidate 1 and forget gate shut is
// h = sigmoid(x_o) tanh(1): the output gate seen through the kernel. Returns o itself.
std::vector<float> sigmoid_of(const std::vector<float>& x) {
  const auto D = static_cast<dim_t>(x.size());
  const auto size = static_cast<std::size_t>(4 * D);
  std::vector<float> gates(size);
  std::copy(x.begin(), x.end(), gates.begin() + lstm_gate::output * D);
  const std::vector<float> zero(size);
  std::vector<float> state(static_cast<std::size_t>(2 * D));
  lstm_gates_forward({zero.data(), 1, 4 * D}, {zero.data(), 1, 2 * D}, zero.data(), zero.data(),
                     {gates.data(), 1, 4 * D}, {state.data(), 1, 2 * D});
  return {gates.begin() + lstm_gate::output * D, gates.end()};
}

std::vector<float> tanh_of(const std::vector<float>& x) {
  const auto D = static_cast<dim_t>(x.size());
  const std::vector<float> zero(x.size());
  std::vector<float> h(x.size());
  rnn_gates_forward(Nonlinearity::tanh, {x.data(), 1, D}, {zero.data(), 1, D}, zero.data(),
                    zero.data(), {h.data(), 1, D});
  return h;
}

// 20001 arguments: whole vectors and a remainder.
std::vector<float> arguments() {
  std::vector<float> x;
  for (int i = -10000; i <= 10000; ++i) x.push_back(static_cast<float>(i) * 0.004F);
  return x;
}

TEST(Gates, SigmoidIsAccurateRelativeToItsValue) {
  const std::vector<float> x = arguments();
  const std::vector<float> y = sigmoid_of(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = sigmoid(static_cast<double>(x[i]));
    // exp to 1 unit in the last place, a sum and a quotient.
    ASSERT_NEAR(y[i], exact, 4 * 6e-8 * exact) << x[i];
  }
}

TEST(Gates, TanhIsAccurateRelativeToItsValue) {
  const std::vector<float> x = arguments();
  const std::vector<float> y = tanh_of(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::tanh(static_cast<double>(x[i]));
    // Highway promises 4 units in the last place, each up to 1.2e-7 of the value.
    ASSERT_NEAR(y[i], exact, 4 * 1.2e-7 * std::abs(exact)) << x[i];
  }
}

TEST(Gates, ExtremesSaturateAndNaNStays) {
  const std::vector<float> x = {1e4F,  -1e4F,  kInfinity, -kInfinity, kNaN,
                                3e38F, -3e38F, 0.0F,      -0.0F,      kNaN};
  const std::vector<float> s = sigmoid_of(x);
  const std::vector<float> h = tanh_of(x);
  for (const std::size_t up : {0U, 2U, 5U}) {
    EXPECT_EQ(s[up], 1.0F);
    EXPECT_EQ(h[up], 1.0F);
    EXPECT_EQ(s[up + 1], 0.0F);
    EXPECT_EQ(h[up + 1], -1.0F);
  }
  for (const std::size_t nan : {4U, 9U}) {
    EXPECT_TRUE(std::isnan(s[nan]));
    EXPECT_TRUE(std::isnan(h[nan]));
  }
  EXPECT_EQ(s[7], 0.5F);
  EXPECT_EQ(h[7], 0.0F);
}

// A gradient from nowhere must be nothing: saturated gates hold exact zeros of their slopes.
TEST(Gates, SaturatedGruPassesItsStateBackUnchanged) {
  constexpr dim_t D = 9;
  const std::vector<float> g(D, 2.0F);
  const std::vector<float> h_previous(D, 0.5F);
  std::vector<float> tape(gru_tape::count * D, 1.0F);  // r = z = n = 1
  std::fill_n(tape.begin() + gru_tape::kept * D, D, 0.3F);
  std::vector<float> g_previous(D, 1.0F);
  const MatrixF rows = {tape.data(), 1, gru_tape::count * D};
  gru_after_backward({g.data(), 1, D}, {h_previous.data(), 1, D}, rows, rows,
                     {g_previous.data(), 1, D});
  EXPECT_EQ(tape, std::vector<float>(gru_tape::count * D, 0.0F));
  EXPECT_EQ(g_previous, std::vector<float>(D, 3.0F));
}

// Rows are treated alike whatever stands around them: the results of one row alone equal its
// results among others, to the bit.
TEST(Gates, RowsDoNotDependOnTheirNeighbours) {
  constexpr dim_t D = 21;
  constexpr dim_t kRows = 5;
  constexpr dim_t kTape = gru_tape::count * D;
  std::vector<float> p(kRows * kTape);
  std::vector<float> q(kRows * 3 * D);
  std::vector<float> h_previous(kRows * D);
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = std::sin(static_cast<float>(i));
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = std::cos(static_cast<float>(3 * i));
  for (std::size_t i = 0; i < h_previous.size(); ++i) {
    h_previous[i] = std::sin(static_cast<float>(5 * i));
  }
  const std::vector<float> b(3 * D, 0.1F);
  const auto run = [&](dim_t begin, dim_t count) {
    std::vector<float> tape(p.begin() + begin * kTape, p.begin() + (begin + count) * kTape);
    std::vector<float> h(static_cast<std::size_t>(count * D));
    gru_after_forward({q.data() + begin * 3 * D, count, 3 * D},
                      {h_previous.data() + begin * D, count, D}, b.data(), b.data(),
                      {tape.data(), count, kTape}, {h.data(), count, D});
    return h;
  };
  const std::vector<float> together = run(0, kRows);
  for (dim_t i = 0; i < kRows; ++i) {
    const std::vector<float> alone = run(i, 1);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + i * D)) << i;
  }
}

}  // namespace
}  // namespace dsf
