#include "dsf/layers/position_embedding.h"

#include <gtest/gtest.h>

#include "dsf/base/error.h"
#include "tests/support/gradient_check.h"
#include "tests/support/random_matrix.h"
#include "tests/support/thread_guard.h"

namespace dsf::testing {
namespace {

constexpr dim_t kContext = 12;
constexpr dim_t kWidth = 5;

// 10 steps of a context of 12: the last two positions are never seen.
const PackedLayout kLayout({6, 6, 5, 5, 5, 4, 2, 2, 1, 1});

const auto kEquation = [](const auto& parameters, const auto& x) {
  auto y = x;
  for (dim_t t = 0; t < kLayout.steps(); ++t) {
    for (dim_t i = kLayout.offset(t); i < kLayout.offset(t) + kLayout.rows_at(t); ++i) {
      for (dim_t j = 0; j < kWidth; ++j) y(i, j) = y(i, j) + parameters.at("weight")(t, j);
    }
  }
  return y;
};

TEST(PositionEmbedding, MatchesReference) {
  ParameterTable table;
  const PositionEmbedding positions(table, "", kContext, kWidth, 0.02F);
  const ParameterValues weights = random_weights(table, 1);
  RandomMatrix x(kLayout.total_rows(), kWidth, 2);
  const RandomMatrix dy(kLayout.total_rows(), kWidth, 3);
  const Values parameters = to_values(table, weights);
  const Derivatives expected =
      differentiate(kEquation, parameters, to_grid(x.view()), to_grid(dy.view()));
  expect_consistent(kEquation, parameters, to_grid(x.view()), to_grid(dy.view()));

  Buffer<float> gradients(table.flat_size());
  positions.forward(weights, kLayout, x.view());
  positions.backward(kLayout, dy.view(), {gradients.data()});
  expect_close("y", to_grid(x.view()), expected.y);
  expect_close(to_values(table, gradients), expected.parameters);
}

TEST(PositionEmbedding, RefusesSequencesBeyondTheContext) {
  ParameterTable table;
  const PositionEmbedding positions(table, "", kContext, kWidth, 0.02F);
  const ParameterValues weights = random_weights(table, 1);
  const PackedLayout layout = PackedLayout::uniform(kContext + 1, 1);
  Matrix y(layout.total_rows(), kWidth);
  EXPECT_THROW(positions.forward(weights, layout, y), DataError);
}

TEST(PositionEmbedding, SameBitsWithAnyNumberOfThreads) {
  ParameterTable table;
  const PositionEmbedding positions(table, "", kContext, kWidth, 0.02F);
  const RandomMatrix dy(kLayout.total_rows(), kWidth, 3);
  EXPECT_TRUE(same_with_any_thread_count([&] {
    Buffer<float> gradients(table.flat_size());
    positions.backward(kLayout, dy.view(), {gradients.data()});
    return to_values(table, gradients).at("weight").values;
  }));
}

}  // namespace
}  // namespace dsf::testing
