#include "dsf/use/sampling.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "dsf/base/error.h"

namespace dsf {
namespace {

// Probabilities 0.5, 0.25, 0.125, 0.125 at temperature 1.
const std::vector<float> kLogits = {std::log(2.0F), std::log(4.0F), 0.0F, 0.0F};

std::map<token_t, int> draws(const SamplingConfig& config, int count = 4000) {
  Sampler sampler(config);
  Rng rng(11);
  std::map<token_t, int> seen;
  for (int i = 0; i < count; ++i) ++seen[sampler.draw(kLogits, rng)];
  return seen;
}

TEST(Sampler, FrequenciesAreTheSoftmax) {
  const auto seen = draws({});
  // Four deviations of a binomial count: sqrt(4000 / 4) = 32 at the most.
  EXPECT_NEAR(seen.at(1), 2000, 130);
  EXPECT_NEAR(seen.at(0), 1000, 130);
  EXPECT_NEAR(seen.at(2), 500, 130);
  EXPECT_NEAR(seen.at(3), 500, 130);
}

TEST(Sampler, TemperatureSharpens) {
  // Squared: 16, 4, 1, 1 of 22.
  EXPECT_NEAR(draws({.temperature = 0.5}).at(1), 4000 * 16 / 22, 130);
}

TEST(Sampler, TemperatureZeroTakesTheFirstOfTheMostProbableAndNoRandomNumber) {
  Sampler sampler({.temperature = 0.0});
  Rng rng(1);
  const Rng::State before = rng.state();
  EXPECT_EQ(sampler.draw(kLogits, rng), 1);
  EXPECT_EQ(sampler.draw(std::vector<float>{0.0F, 3.0F, 3.0F}, rng), 1);
  EXPECT_EQ(rng.state(), before);
}

TEST(Sampler, TopKKeepsThatManyAndTiesGoToTheFirst) {
  EXPECT_EQ(draws({.top_k = 1}).size(), 1U);
  const auto seen = draws({.top_k = 3});
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_FALSE(seen.contains(3));
  EXPECT_EQ(draws({.top_k = 99}).size(), 4U);
}

TEST(Sampler, TopPKeepsTheFewestThatReachIt) {
  EXPECT_EQ(draws({.top_p = 0.49}).size(), 1U);
  EXPECT_EQ(draws({.top_p = 0.7}).size(), 2U);
  EXPECT_EQ(draws({.top_p = 0.8}).size(), 3U);
}

TEST(Sampler, MinPIsMeasuredByTheMostProbable) {
  EXPECT_EQ(draws({.min_p = 0.4}).size(), 2U);
  EXPECT_EQ(draws({.min_p = 1.0}).size(), 1U);
  EXPECT_EQ(draws({.min_p = 0.2}).size(), 4U);
}

TEST(Sampler, MinusInfinityIsNeverDrawnAndOtherNonNumbersAreErrors) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Sampler sampler({.temperature = 100.0});
  Rng rng(1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(sampler.draw(std::array<float, 2>{-kInf, -50.0F}, rng), 1);
  }
  EXPECT_THROW(sampler.draw(std::array<float, 2>{-kInf, -kInf}, rng), DivergenceError);
  EXPECT_THROW(sampler.draw(std::array<float, 2>{1.0F, kInf}, rng), DivergenceError);
  EXPECT_THROW(sampler.draw(std::array<float, 2>{1.0F, std::nanf("")}, rng), DivergenceError);
}

TEST(Sampler, SettingsOutOfRangeAreRefused) {
  for (const SamplingConfig& wrong :
       {SamplingConfig{.temperature = -1.0}, SamplingConfig{.temperature = std::nan("")},
        SamplingConfig{.top_k = -1}, SamplingConfig{.top_p = 0.0}, SamplingConfig{.top_p = 1.5},
        SamplingConfig{.min_p = -0.1}, SamplingConfig{.min_p = 2.0}}) {
    EXPECT_THROW(Sampler{wrong}, UsageError);
  }
}

}  // namespace
}  // namespace dsf
