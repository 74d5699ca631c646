#include "dsf/layers/linear.h"

#include <gtest/gtest.h>

#include "tests/support/gradient_check.h"
#include "tests/support/random_matrix.h"
#include "tests/support/thread_guard.h"

namespace dsf::testing {
namespace {

constexpr dim_t kRows = 37;
constexpr dim_t kIn = 9;
constexpr dim_t kOut = 14;

const auto kEquation = [](const auto& parameters, const auto& x) {
  return reference::linear(parameters, "map.", x);
};

struct LinearTest : ::testing::Test {
  ParameterTable table;
  Linear linear{table, "map.", kIn, kOut, Init::normal(1.0F)};
  ParameterValues weights = random_weights(table, 1);
  RandomMatrix x{kRows, kIn, 2};
  RandomMatrix dy{kRows, kOut, 3};
  LinearScratch scratch;
  Matrix y{kRows, kOut};

  void SetUp() override { linear.forward(weights, x.view(), scratch, y); }
  Derivatives expected() {
    return differentiate(kEquation, to_values(table, weights), to_grid(x.view()),
                         to_grid(dy.view()));
  }
};

TEST_F(LinearTest, MatchesReference) {
  Matrix dx(kRows, kIn);
  Buffer<float> gradients(table.flat_size());
  linear.backward(x.view(), dy.view(), scratch, dx, {gradients.data()});
  expect_close("y", to_grid(y), expected().y);
  expect_close("dx", to_grid(dx), expected().dx);
  expect_close(to_values(table, gradients), expected().parameters);
  expect_consistent(kEquation, to_values(table, weights), to_grid(x.view()), to_grid(dy.view()));
}

TEST_F(LinearTest, GradientMayOverwriteTheInput) {
  Buffer<float> gradients(table.flat_size());
  const Derivatives wanted = expected();
  linear.backward(x.view(), dy.view(), scratch, x.view(), {gradients.data()});
  expect_close("dx", to_grid(x.view()), wanted.dx);
  expect_close(to_values(table, gradients), wanted.parameters);
}

TEST_F(LinearTest, GradientsAccumulate) {
  Matrix dx(kRows, kIn);
  Buffer<float> gradients(table.flat_size());
  for (int pass = 0; pass < 3; ++pass) {
    linear.backward(x.view(), dy.view(), scratch, dx, {gradients.data()});
  }
  Values wanted = expected().parameters;
  for (auto& [name, grid] : wanted) {
    for (double& value : grid.values) value *= 3.0;
  }
  expect_close(to_values(table, gradients), wanted);
}

TEST_F(LinearTest, Bf16IsWithinTheRoundingOfItsOperands) {
  Matrix dx(kRows, kIn);
  Buffer<float> gradients(table.flat_size());
  weights.set_precision(Precision::bf16);
  linear.forward(weights, x.view(), scratch, y);
  linear.backward(x.view(), dy.view(), scratch, dx, {gradients.data()});
  // Each of the two factors is rounded to 8 bits: at most 2^-9 each.
  constexpr double kBf16Tolerance = 2.0 / 512.0;
  expect_close("y", to_grid(y), expected().y, kBf16Tolerance);
  expect_close("dx", to_grid(dx), expected().dx, kBf16Tolerance);
  expect_close(to_values(table, gradients), expected().parameters, kBf16Tolerance);
  EXPECT_GT(reference::relative_error(to_grid(y), expected().y), kF32Tolerance)
      << "the operands were not rounded at all";
}

TEST(Linear, SameBitsWithAnyNumberOfThreads) {
  constexpr dim_t kManyRows = 1500;
  constexpr dim_t kWidth = 96;
  ParameterTable table;
  Linear linear(table, "", kWidth, kWidth, Init::normal(1.0F));
  const ParameterValues weights = random_weights(table, 1);
  const RandomMatrix x(kManyRows, kWidth, 2);
  const RandomMatrix dy(kManyRows, kWidth, 3);
  EXPECT_TRUE(same_with_any_thread_count([&] {
    LinearScratch scratch;
    Matrix y(kManyRows, kWidth);
    Matrix dx(kManyRows, kWidth);
    Buffer<float> gradients(table.flat_size());
    linear.forward(weights, x.view(), scratch, y);
    linear.backward(x.view(), dy.view(), scratch, dx, {gradients.data()});
    return std::tuple(to_grid(y).values, to_grid(dx).values,
                      to_values(table, gradients).at("weight").values,
                      to_values(table, gradients).at("bias").values);
  }));
}

}  // namespace
}  // namespace dsf::testing
