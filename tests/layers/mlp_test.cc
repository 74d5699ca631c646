#include "dsf/layers/mlp.h"

#include <gtest/gtest.h>

#include "tests/support/gradient_check.h"
#include "tests/support/random_matrix.h"

namespace dsf::testing {
namespace {

constexpr dim_t kRows = 17;
constexpr dim_t kWidth = 6;

const auto kEquation = [](const auto& parameters, const auto& x) {
  return reference::mlp(parameters, "mlp.", x);
};

struct MlpTest : ::testing::Test {
  ParameterTable table;
  Mlp mlp{table, "mlp.", kWidth, 0.02F, 0.01F};
  ParameterValues weights = random_weights(table, 1);
  RandomMatrix x{kRows, kWidth, 2};
  RandomMatrix dy{kRows, kWidth, 3};
  MlpScratch scratch;
  Matrix p{kRows, mlp.inner_width()};
  Matrix y{kRows, kWidth};

  void SetUp() override { mlp.forward(weights, x.view(), scratch, p, y); }
  Derivatives expected() {
    return differentiate(kEquation, to_values(table, weights), to_grid(x.view()),
                         to_grid(dy.view()));
  }
};

TEST_F(MlpTest, MatchesReference) {
  Matrix dx(kRows, kWidth);
  Buffer<float> gradients(table.flat_size());
  mlp.backward(x.view(), p, dy.view(), scratch, dx, {gradients.data()});
  expect_close("y", to_grid(y), expected().y);
  expect_close("dx", to_grid(dx), expected().dx);
  expect_close(to_values(table, gradients), expected().parameters);
  expect_consistent(kEquation, to_values(table, weights), to_grid(x.view()), to_grid(dy.view()));
}

TEST_F(MlpTest, GradientMayOverwriteTheErrorItCameFrom) {
  const Derivatives wanted = expected();
  Buffer<float> gradients(table.flat_size());
  mlp.backward(x.view(), p, dy.view(), scratch, dy.view(), {gradients.data()});
  expect_close("dx", to_grid(dy.view()), wanted.dx);
  expect_close(to_values(table, gradients), wanted.parameters);
}

TEST_F(MlpTest, HasEightSquaresAndFiveVectorsOfParameters) {
  EXPECT_EQ(table.parameter_count(), 8 * kWidth * kWidth + 5 * kWidth);
}

}  // namespace
}  // namespace dsf::testing
