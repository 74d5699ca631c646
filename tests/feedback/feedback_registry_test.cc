#include "dsf/feedback/feedback_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsf/base/error.h"
#include "dsf/feedback/bptt.h"
#include "dsf/feedback/feedback_method.h"
#include "dsf/run/config_file.h"

namespace dsf {
namespace {

using ::testing::Contains;

std::unique_ptr<Feedback> make_truncated(const FeedbackConfig& /*config*/, dim_t /*state_size*/,
                                         std::uint64_t /*seed*/, std::string_view /*purpose*/) {
  return std::make_unique<TruncatedFeedback>();
}

TEST(FeedbackRegistry, ARegisteredNameIsMadeByItsFactory) {
  dim_t width = 0;
  register_feedback("of-a-test",
                    [&width](const auto& config, dim_t state_size, auto seed, auto purpose) {
                      width = state_size;
                      return make_truncated(config, state_size, seed, purpose);
                    });
  FeedbackConfig config;
  config.method = "of-a-test";
  EXPECT_NE(dynamic_cast<TruncatedFeedback*>(make_feedback(config, 12, 1, "x").get()), nullptr);
  EXPECT_EQ(width, 12);
  EXPECT_THAT(registered_feedbacks(), Contains("of-a-test"));
}

TEST(FeedbackRegistry, NamesThatAreTakenAreRefused) {
  for (const char* name : {"dsf", "iterated:3", "bptt:rank", "bptt:rank:8", "gated:dsf", ""}) {
    EXPECT_THROW(register_feedback(name, make_truncated), ConfigError) << name;
  }
  register_feedback("only-once", make_truncated);
  EXPECT_THROW(register_feedback("only-once", make_truncated), ConfigError);
}

TEST(FeedbackRegistry, ARegisteredFeedbackIsTakenToLearnFromNoBatches) {
  register_feedback("from-outside", make_truncated);
  EXPECT_FALSE(learns_from_batches("from-outside"));
  EXPECT_TRUE(learns_from_batches("adaptive"));
  EXPECT_THROW(learns_from_batches("from-nowhere"), ConfigError);
}

// In a process of its own: the list of keys is made once, when it is first asked for.
TEST(FeedbackRegistry, ARegisteredNameIsGoodInConfigurations) {
  register_feedback("configured", make_truncated);
  const RunConfig config =
      with_assignments(RunConfig(), {parse_assignment("feedback.method=configured")});
  EXPECT_EQ(config.feedback.method, "configured");
}

}  // namespace
}  // namespace dsf
