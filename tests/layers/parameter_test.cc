#include "dsf/layers/parameter.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <utility>

#include "dsf/layers/linear.h"
#include "tests/support/gradient_check.h"
#include "tests/support/random_matrix.h"

namespace dsf::testing {
namespace {

constexpr dim_t kRows = 5;
constexpr dim_t kIn = 6;
constexpr dim_t kOut = 4;

struct ParameterValuesTest : ::testing::Test {
  ParameterTable table;
  Linear linear{table, "map.", kIn, kOut, Init::normal(1.0F)};
  RandomMatrix x{kRows, kIn, 2};

  std::vector<double> forward(Linear& map, const ParameterValues& weights) {
    LinearScratch scratch;
    Matrix y(kRows, kOut);
    map.forward(weights, x.view(), scratch, y);
    return to_grid(y).values;
  }
  /// By a map that has never packed anything.
  std::vector<double> expected(const ParameterValues& weights) {
    ParameterTable same_table;
    Linear fresh(same_table, "map.", kIn, kOut, Init::normal(1.0F));
    return forward(fresh, weights);
  }
};

std::uint64_t version_of(const ParameterValues& values) { return Weights(values).version(); }

TEST_F(ParameterValuesTest, StartAtZeroAndAreAsLongAsTheTable) {
  const ParameterValues values(table);
  EXPECT_EQ(static_cast<dim_t>(values.span().size()), table.flat_size());
  for (const float value : values.span()) EXPECT_EQ(value, 0.0F);
  EXPECT_EQ(Weights(values).precision(), Precision::f32);
  EXPECT_EQ(Weights(ParameterValues(table, Precision::bf16)).precision(), Precision::bf16);
}

TEST_F(ParameterValuesTest, NoTwoStatesHaveTheSameVersion) {
  std::set<std::uint64_t> versions;
  for (int store = 0; store < 3; ++store) {
    ParameterValues values(table);
    EXPECT_TRUE(versions.insert(version_of(values)).second);
    values.mutable_span();
    EXPECT_TRUE(versions.insert(version_of(values)).second);
    values.set_precision(Precision::bf16);
    EXPECT_TRUE(versions.insert(version_of(values)).second);
  }
}

TEST_F(ParameterValuesTest, KeepTheirVersionIfNothingChanges) {
  ParameterValues values(table, Precision::bf16);
  const std::uint64_t version = version_of(values);
  EXPECT_EQ(values.span().data(), std::as_const(values).span().data());
  values.set_precision(Precision::bf16);
  EXPECT_EQ(version_of(values), version);
}

TEST_F(ParameterValuesTest, MoveWithTheirVersion) {
  ParameterValues first = random_weights(table, 1);
  ParameterValues second = random_weights(table, 2);
  const std::uint64_t version = version_of(first);
  const std::vector<double> y = forward(linear, first);
  second = std::move(first);
  EXPECT_EQ(version_of(second), version);
  EXPECT_EQ(forward(linear, second), y);
  const ParameterValues third = std::move(second);
  EXPECT_EQ(version_of(third), version);
  EXPECT_EQ(forward(linear, third), y);
}

// The memory of a store that is freed is the next one's, or may be.
TEST_F(ParameterValuesTest, AreNotTakenForThoseWhoseMemoryTheyHave) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const ParameterValues weights = random_weights(table, seed);
    EXPECT_EQ(forward(linear, weights), expected(weights));
  }
}

TEST_F(ParameterValuesTest, ArePackedAgainInAnotherPrecision) {
  ParameterValues weights = random_weights(table, 1);
  const std::vector<double> exact = forward(linear, weights);
  weights.set_precision(Precision::bf16);
  EXPECT_NE(forward(linear, weights), exact);
  weights.set_precision(Precision::f32);
  EXPECT_EQ(forward(linear, weights), exact);
}

TEST_F(ParameterValuesTest, AreTakenByAProductWithoutBiasToo) {
  ParameterValues weights = random_weights(table, 1);
  forward(linear, weights);
  for (float& weight : weights.mutable_span()) weight *= 2.0F;
  LinearScratch scratch;
  Matrix product(kRows, kOut);
  linear.multiply(weights, x.view(), scratch, product);
  for (dim_t i = 0; i < kRows; ++i) {
    for (dim_t j = 0; j < kOut; ++j) product.view()(i, j) += linear.bias(weights)[j];
  }
  EXPECT_EQ(to_grid(product).values, expected(weights));
}

TEST(PackedVersion, PacksOncePerVersion) {
  ParameterTable table;
  ParameterValues values(table);
  PackedVersion packed;
  int count = 0;
  const auto renew = [&] { packed.renew(values, [&] { ++count; }); };
  renew();
  renew();
  EXPECT_EQ(count, 1);
  values.mutable_span();
  renew();
  renew();
  EXPECT_EQ(count, 2);
}

// What is packed then may be old and new in parts.
TEST(PackedVersion, HoldsNothingAfterPackingFailed) {
  ParameterTable table;
  ParameterValues first(table);
  ParameterValues second(table);
  PackedVersion packed;
  const auto packs = [&packed](const ParameterValues& values) {
    bool called = false;
    packed.renew(values, [&] { called = true; });
    return called;
  };
  EXPECT_TRUE(packs(first));
  EXPECT_THROW(packed.renew(second, [] { throw std::runtime_error("no memory"); }),
               std::runtime_error);
  EXPECT_TRUE(packs(first));
  EXPECT_TRUE(packs(second));
}

}  // namespace
}  // namespace dsf::testing
