#include "dsf/run/finite.h"

#include <gtest/gtest.h>

#include <limits>

namespace dsf {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

LanguageModel small_model() {
  ModelConfig config;
  config.hidden = 4;
  config.layers = 1;
  return {config, FeedbackConfig{}, 5, 1};
}

TEST(Finite, NamesTheMomentThatIsNot) {
  LanguageModel model = small_model();
  TrainingState state;
  state.adam.m.resize(model.table().flat_size());
  state.adam.v.resize(model.table().flat_size());
  EXPECT_EQ(first_not_finite(model, state), "");
  state.adam.v[0] = kNaN;
  EXPECT_EQ(first_not_finite(model, state), "v." + model.table().entries().front().name);
}

// If ranks share the optimiser, each has a part of the moments only.
TEST(Finite, LooksAtAPartOfTheMomentsAsFarAsItGoes) {
  LanguageModel model = small_model();
  TrainingState state;
  state.adam.m.resize(7);
  state.adam.v.resize(7);
  EXPECT_EQ(first_not_finite(model, state), "");
  state.adam.m[6] = kNaN;
  EXPECT_EQ(first_not_finite(model, state), "a moment of this rank");
}

}  // namespace
}  // namespace dsf
