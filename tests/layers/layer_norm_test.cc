#include "dsf/layers/layer_norm.h"

#include <gtest/gtest.h>

#include "tests/support/gradient_check.h"
#include "tests/support/random_matrix.h"
#include "tests/support/thread_guard.h"

namespace dsf::testing {
namespace {

const auto kEquation = [](const auto& parameters, const auto& x) {
  return reference::layer_norm(parameters, "norm.", x);
};

TEST(LayerNorm, MatchesReference) {
  constexpr dim_t kRows = 21;
  constexpr dim_t kWidth = 11;
  ParameterTable table;
  LayerNorm norm(table, "norm.", kWidth);
  const ParameterValues weights = random_weights(table, 1);
  const RandomMatrix x(kRows, kWidth, 2);
  const RandomMatrix dy(kRows, kWidth, 3);

  LayerNormTape tape;
  Buffer<float> work;
  Matrix y(kRows, kWidth);
  Matrix dx(kRows, kWidth);
  Buffer<float> gradients(table.flat_size());
  tape.reshape(kRows);
  norm.forward(weights, x.view(), tape.from_row(0), y);
  norm.backward(dy.view(), x.view(), tape.from_row(0), work, dx, {gradients.data()});

  const Values parameters = to_values(table, weights);
  const Derivatives expected =
      differentiate(kEquation, parameters, to_grid(x.view()), to_grid(dy.view()));
  expect_close("y", to_grid(y), expected.y);
  expect_close("dx", to_grid(dx), expected.dx);
  expect_close(to_values(table, gradients), expected.parameters);
  expect_consistent(kEquation, parameters, to_grid(x.view()), to_grid(dy.view()));
}

TEST(LayerNorm, RowsInChunksGiveTheWhole) {
  constexpr dim_t kRows = 40;
  constexpr dim_t kFirst = 13;
  constexpr dim_t kWidth = 6;
  ParameterTable table;
  LayerNorm norm(table, "", kWidth);
  const ParameterValues weights = random_weights(table, 1);
  const RandomMatrix x(kRows, kWidth, 2);
  const RandomMatrix dy(kRows, kWidth, 3);
  const auto run = [&](const std::vector<std::pair<dim_t, dim_t>>& chunks) {
    LayerNormTape tape;
    Buffer<float> work;
    Matrix y(kRows, kWidth);
    Matrix dx(kRows, kWidth);
    Buffer<float> gradients(table.flat_size());
    tape.reshape(kRows);
    for (const auto& [begin, count] : chunks) {
      norm.forward(weights, x.view().middle_rows(begin, count), tape.from_row(begin),
                   y.view().middle_rows(begin, count));
    }
    for (const auto& [begin, count] : chunks) {
      norm.backward(dy.view().middle_rows(begin, count), x.view().middle_rows(begin, count),
                    tape.from_row(begin), work, dx.view().middle_rows(begin, count),
                    {gradients.data()});
    }
    return std::tuple(to_grid(y), to_grid(dx), to_values(table, gradients));
  };
  const auto [y, dx, gradients] = run({{0, kRows}});
  const auto [y_cut, dx_cut, gradients_cut] = run({{0, kFirst}, {kFirst, kRows - kFirst}});
  EXPECT_EQ(y_cut.values, y.values);
  EXPECT_EQ(dx_cut.values, dx.values);
  expect_close(gradients_cut, gradients);
}

TEST(LayerNorm, StartsAsPlainNormalisation) {
  ParameterTable table;
  const LayerNorm norm(table, "", 8);
  ASSERT_EQ(table.entries().size(), 2U);
  EXPECT_EQ(table.entries()[0].name, "weight");
  EXPECT_EQ(table.entries()[0].init.kind, Init::Kind::one);
  EXPECT_EQ(table.entries()[1].name, "bias");
  EXPECT_EQ(table.entries()[1].init.kind, Init::Kind::zero);
}

}  // namespace
}  // namespace dsf::testing
