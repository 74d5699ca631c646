#include "dsf/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace dsf {
namespace {

std::vector<std::uint64_t> draw(Rng rng, int count) {
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(rng.next());
  return numbers;
}

// The first outputs of the authors' xoshiro256starstar.c from the state 1, 2, 3, 4.
TEST(Rng, FollowsThePublishedGenerator) {
  Rng rng;
  rng.set_state({1, 2, 3, 4});
  const std::vector<std::uint64_t> published = {
      11520,
      0,
      1509978240,
      1215971899390074240ULL,
      1216172134540287360ULL,
      607988272756665600ULL,
      16172922978634559625ULL,
      8476171486693032832ULL,
      10595114339597558777ULL,
      2904607092377533576ULL,
  };
  EXPECT_EQ(draw(rng, 10), published);
}

// The first outputs of the authors' splitmix64.c from 1234567.
TEST(Rng, SeedIsSpreadByThePublishedSplitMix) {
  const Rng::State published = {6457827717110365317ULL, 3203168211198807973ULL,
                                9817491932198370423ULL, 4593380528125082431ULL};
  EXPECT_EQ(Rng(1234567).state(), published);
}

TEST(Rng, SameSeedAndPurposeGiveTheSameNumbers) {
  EXPECT_EQ(draw(Rng(7, "shuffle/0"), 8), draw(Rng(7, "shuffle/0"), 8));
}

TEST(Rng, AnotherSeedOrPurposeGivesOtherNumbers) {
  const auto first = draw(Rng(7, "shuffle/0"), 8);
  EXPECT_NE(first, draw(Rng(7, "shuffle/1"), 8));
  EXPECT_NE(first, draw(Rng(8, "shuffle/0"), 8));
  EXPECT_NE(first, draw(Rng(7), 8));
}

TEST(Rng, SavedStateContinuesWhereItStood) {
  Rng rng(3);
  draw(rng, 5);
  rng.normal();
  Rng resumed;
  resumed.set_state(rng.state());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(resumed.normal(), rng.normal());
}

TEST(Rng, UniformHasTheMomentsOfTheUniformDistribution) {
  Rng rng(11);
  constexpr int kDraws = 200'000;
  double sum = 0.0;
  double squares = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = rng.uniform();
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    sum += x;
    squares += x * x;
  }
  // Five standard errors: Var(x) = 1/12, Var(x^2) = 1/5 - 1/9 = 4/45.
  EXPECT_NEAR(sum / kDraws, 0.5, 5.0 * std::sqrt(1.0 / 12.0 / kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0 / 3.0, 5.0 * std::sqrt(4.0 / 45.0 / kDraws));
}

TEST(Rng, UniformRangeKeepsItsBounds) {
  Rng rng(12);
  for (int i = 0; i < 10'000; ++i) {
    const double x = rng.uniform(-3.0, -2.0);
    ASSERT_GE(x, -3.0);
    ASSERT_LT(x, -2.0);
  }
}

TEST(Rng, NormalHasTheMomentsOfTheNormalDistribution) {
  Rng rng(13);
  constexpr int kDraws = 200'000;
  double sum = 0.0;
  double squares = 0.0;
  double fourths = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = rng.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  // Five standard errors: Var(x) = 1, Var(x^2) = 3 - 1, Var(x^4) = 105 - 9.
  EXPECT_NEAR(sum / kDraws, 0.0, 5.0 * std::sqrt(1.0 / kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0, 5.0 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(fourths / kDraws, 3.0, 5.0 * std::sqrt(96.0 / kDraws));
}

TEST(Rng, BelowIsUniformOverItsRange) {
  Rng rng(14);
  constexpr dim_t kRange = 6;
  constexpr int kDraws = 60'000;
  std::vector<double> counts(kRange, 0.0);
  for (int i = 0; i < kDraws; ++i) {
    const dim_t x = rng.below(kRange);
    ASSERT_GE(x, 0);
    ASSERT_LT(x, kRange);
    counts[static_cast<std::size_t>(x)] += 1.0;
  }
  // Binomial with p = 1/6: five standard deviations.
  for (const double count : counts) {
    EXPECT_NEAR(count, kDraws / 6.0, 5.0 * std::sqrt(kDraws * 5.0 / 36.0));
  }
}

// 2^62 + 2^61 goes into 2^64 twice and a remainder: taking it modulo would make the lower two
// thirds of the range come up half as often again as the rest.
TEST(Rng, BelowHasNoBiasForRangesThatDoNotDivideTheWord) {
  Rng rng(15);
  constexpr dim_t kRange = (dim_t{1} << 62) + (dim_t{1} << 61);
  constexpr int kDraws = 30'000;
  int low = 0;
  for (int i = 0; i < kDraws; ++i) low += rng.below(kRange) < kRange / 3 ? 1 : 0;
  EXPECT_NEAR(low, kDraws / 3.0, 5.0 * std::sqrt(kDraws * 2.0 / 9.0));
}

TEST(Rng, BelowOneIsZero) {
  Rng rng(16);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rng.below(1), 0);
}

TEST(Shuffle, KeepsEveryItem) {
  std::vector<int> items(1000);
  std::iota(items.begin(), items.end(), 0);
  const std::vector<int> sorted = items;
  Rng rng(17);
  shuffle(items, rng);
  EXPECT_NE(items, sorted);
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, sorted);
}

TEST(Shuffle, AllOrdersAreEquallyLikely) {
  Rng rng(18);
  constexpr int kDraws = 24'000;
  std::map<std::string, double> counts;
  for (int i = 0; i < kDraws; ++i) {
    std::string items = "abcd";
    shuffle(items, rng);
    counts[items] += 1.0;
  }
  ASSERT_EQ(counts.size(), 24U);
  // Binomial with p = 1/24: five standard deviations.
  for (const auto& [order, count] : counts) {
    EXPECT_NEAR(count, kDraws / 24.0, 5.0 * std::sqrt(kDraws * 23.0 / 576.0)) << order;
  }
}

TEST(Shuffle, EmptyAndSingleListsStay) {
  Rng rng(19);
  std::vector<int> none;
  shuffle(none, rng);
  EXPECT_TRUE(none.empty());
  std::vector<int> one = {5};
  shuffle(one, rng);
  EXPECT_EQ(one, std::vector<int>{5});
}

}  // namespace
}  // namespace dsf
