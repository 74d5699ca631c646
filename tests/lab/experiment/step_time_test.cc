#include "lab/experiment/step_time.h"

#include <gtest/gtest.h>

#include "dsf/feedback/bptt.h"
#include "dsf/feedback/feedback_registry.h"
#include "dsf/run/config_file.h"
#include "tests/support/small_text.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

TEST(StepTime, OfARegisteredFeedbackIsMeasured) {
  register_feedback(
      "timed", [](const auto& /*config*/, auto /*state_size*/, auto /*seed*/, auto /*purpose*/) {
        return std::make_unique<TruncatedFeedback>();
      });
  const TempDirectory directory;
  const auto assignments =
      parse_assignments({"data.corpus=" + directory.write("text.txt", small_text(60)).string(),
                         "data.context=8", "model.hidden=8", "train.batch=4", "train.threads=1"});
  const auto times = relative_step_times(with_assignments(RunConfig(), assignments), {"timed"},
                                         directory / "times.json", [] { return 0; });
  ASSERT_TRUE(times.contains("timed"));
  EXPECT_GT(times.at("timed"), 0.0);
}

}  // namespace
}  // namespace dsf
