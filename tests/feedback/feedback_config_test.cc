// What the keys of [feedback] make of a feedback, and what they may not be.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "dsf/base/error.h"
#include "dsf/feedback/feedback_method.h"
#include "tests/feedback/feedback_problem.h"
#include "tests/support/every_feedback.h"

namespace dsf {
namespace {

std::vector<float> diagonal_of(const FeedbackConfig& config, dim_t size = kState,
                               std::uint64_t seed = 1, const char* purpose = "layer") {
  const auto feedback = make_feedback(config, size, seed, purpose);
  const NamedBuffer buffer = feedback->buffers().at(0);
  EXPECT_EQ(buffer.name, "diagonal");
  return {buffer.values.begin(), buffer.values.end()};
}

TEST(DiagonalFeedbackInit, UniformFillsItsRangeFromTheSeed) {
  FeedbackConfig config = config_of("dsf");
  config.range = {0.25, 0.75};
  const std::vector<float> a = diagonal_of(config, 4000);
  const auto [low, high] = std::minmax_element(a.begin(), a.end());
  EXPECT_GE(*low, 0.25F);
  EXPECT_LE(*high, 0.75F);
  EXPECT_LT(*low, 0.26F);
  EXPECT_GT(*high, 0.74F);
  EXPECT_EQ(a, diagonal_of(config, 4000));
  EXPECT_NE(a, diagonal_of(config, 4000, 2));
  EXPECT_NE(a, diagonal_of(config, 4000, 1, "other layer"));
}

TEST(DiagonalFeedbackInit, LinspaceReachesBothEnds) {
  FeedbackConfig config = config_of("dsf");
  config.init = DiagonalInit::linspace;
  config.range = {0.5, 1.0};
  EXPECT_EQ(diagonal_of(config, 5), (std::vector<float>{0.5F, 0.625F, 0.75F, 0.875F, 1.0F}));
  EXPECT_EQ(diagonal_of(config, 1), (std::vector<float>{0.75F}));
}

TEST(DiagonalFeedbackInit, ConstantIsTheMeanOfTheRange) {
  FeedbackConfig config = config_of("dsf");
  config.init = DiagonalInit::constant;
  config.range = {0.25, 0.75};
  EXPECT_EQ(diagonal_of(config, 3), (std::vector<float>{0.5F, 0.5F, 0.5F}));
  config.range = {0.0, 0.0};
  EXPECT_EQ(diagonal_of(config, 2), (std::vector<float>{0.0F, 0.0F}));
}

std::string error_of(const FeedbackConfig& config) {
  try {
    make_feedback(config, kState, 1, "layer");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(FeedbackConfigErrors, NameTheKeyAndTheKnownValues) {
  const std::string error = error_of(config_of("rtrl"));
  EXPECT_TRUE(error.starts_with("feedback.method = \"rtrl\" is unknown; known: bptt, ft, dsf, "))
      << error;
  const std::string known = error.substr(error.find("known: ")) + ",";
  for (const std::string& name : feedback_methods()) {
    EXPECT_NE(known.find(" " + name + ","), std::string::npos) << name << " in: " << error;
  }
}

TEST(FeedbackConfigErrors, IteratedNeedsAWholeNumber) {
  for (const char* method : {"iterated", "iterated:", "iterated:K", "iterated:-1", "iterated:1.5",
                             "iterated:1x", "iterated:12345678901"}) {
    EXPECT_NE(error_of(config_of(method)).find("iterated:K"), std::string::npos) << method;
  }
  EXPECT_EQ(error_of(config_of("iterated:12")), "no error");
}

TEST(FeedbackConfigErrors, NumbersStartAtOne) {
  for (const char* method : {"iterated:0", "lowrank:0", "bptt:rank:0"}) {
    EXPECT_EQ(error_of(config_of(method)),
              "feedback.method = \"" + std::string(method) + "\": the number must be at least 1");
  }
}

TEST(FeedbackConfigErrors, TheRankOfBpttMayBeLeftOut) {
  for (const char* method : {"bptt:rank", "bptt:rank:8", "bptt:rank:1"}) {
    EXPECT_EQ(error_of(config_of(method)), "no error") << method;
  }
  for (const char* method : {"bptt:rank:", "bptt:rank:K", "bptt:rank[:K]", "bptt:rank8",
                             "bptt:rank:-1", "bptt:rank:8:8", "bptt:", "bptt:8"}) {
    EXPECT_NE(error_of(config_of(method)).find("is unknown; known: bptt, "), std::string::npos)
        << method;
  }
  EXPECT_FALSE(parse_feedback_method("bptt:rank").number.has_value());
  EXPECT_EQ(parse_feedback_method("bptt:rank:8").number, 8);
  EXPECT_EQ(parse_feedback_method("bptt:rank:8").kind, FeedbackKind::bptt_rank);
}

TEST(FeedbackConfigErrors, MethodsThatWereRemovedNameTheNearestThatStayed) {
  const std::vector<std::pair<std::string, std::string>> removed = {
      {"gated:diagonal", "gated"},     {"iterated:dsf:2", "iterated:K"},
      {"candidate:1", "bptt:rank"},    {"candidate:dsf:1", "bptt:rank"},
      {"windows:16", "bptt:rank"},     {"windows:candidate:16", "bptt:rank"},
      {"bptt:candidate", "bptt:rank"}, {"fitted", "adaptive, with feedback.refit_every = 0"},
      {"learned", "adaptive"},         {"blocks:8", "orthogonal"},
  };
  for (const auto& [method, nearest] : removed) {
    EXPECT_EQ(error_of(config_of(method)),
              "feedback.method = \"" + method +
                  "\" is not there any more; the nearest that is: " + nearest);
    EXPECT_THROW(learns_from_batches(method), ConfigError) << method;
  }
}

TEST(FeedbackMethods, EveryNameOfTheTableIsMade) {
  for (const std::string& method : testing::every_feedback()) {
    EXPECT_EQ(error_of(config_of(method)), "no error") << method;
    EXPECT_EQ(learns_from_batches(method), method == "adaptive") << method;
  }
  for (const std::string& method : feedback_examples()) {
    EXPECT_EQ(error_of(config_of(method)), "no error") << method;
  }
}

TEST(FeedbackConfigErrors, AdaptiveNeedsABatchToFitOn) {
  FeedbackConfig config = config_of("adaptive");
  config.calibration = 0;
  EXPECT_EQ(error_of(config), "feedback.calibration = 0: must be at least 1");
  config.calibration = 1;
  config.refit_every = -1;
  EXPECT_EQ(error_of(config), "feedback.refit_every = -1: must be at least 1, or 0 for never");
  config.refit_every = 0;
  EXPECT_EQ(error_of(config), "no error");
}

TEST(FeedbackConfigErrors, RangeMustLieInTheUnitInterval) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<double>& range : std::vector<std::vector<double>>{{},
                                                                           {0.5},
                                                                           {0.0, 0.5, 1.0},
                                                                           {-0.1, 0.5},
                                                                           {0.5, 1.1},
                                                                           {0.8, 0.2},
                                                                           {nan, 0.5},
                                                                           {0.5, nan}}) {
    FeedbackConfig config = config_of("dsf");
    config.range = range;
    EXPECT_NE(error_of(config).find("feedback.range"), std::string::npos) << range.size();
  }
  FeedbackConfig config = config_of("dsf");
  config.range = {0.8, 0.2};
  EXPECT_EQ(
      error_of(config),
      "feedback.range = [0.8, 0.2] must be two numbers [low, high] with 0 <= low <= high <= 1");
}

}  // namespace
}  // namespace dsf
