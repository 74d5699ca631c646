// A feedback says what memory its run() takes.

#include <gtest/gtest.h>

#include <string>

#include "dsf/feedback/feedback_method.h"
#include "tests/feedback/recording_cell.h"

namespace dsf {
namespace {

struct Taken {
  dim_t numbers = 0;
  bool trials = false;
};

// Over two batches, the first of which goes back exactly where the feedback learns from it.
Taken taken_by(Feedback& feedback) {
  const Problem problem;
  FeedbackWorkspace work;
  Taken taken;
  for (int batch = 0; batch < 2; ++batch) {
    RecordingCell cell(problem.layout, problem.jacobian);
    Grid<float> g = problem.e;
    feedback.run(problem.layout, cell, work, g.view());
    taken.trials = taken.trials || !cell.trial.values.empty();
  }
  taken.numbers = work.errors.rows() * work.errors.cols() + work.rest.rows() * work.rest.cols() +
                  work.scan.spectra.size();
  return taken;
}

std::string with_a_number(std::string name) {
  if (name.ends_with(":K")) name.back() = '2';
  return name;
}

TEST(FeedbackMemory, OfEveryMethodIsAtMostWhatItSays) {
  for (const std::string& name : feedback_methods()) {
    for (const char* scan : {"auto", "fft"}) {
      SCOPED_TRACE(name + " " + scan);
      FeedbackConfig config = config_of(with_a_number(name), scan);
      config.calibration = 1;
      const auto feedback = make_feedback(config, kState, 1, "layer");
      const dim_t told =
          feedback->workspace_numbers({kLayout.total_rows(), kState, kLayout.steps()});
      const Taken taken = taken_by(*feedback);
      EXPECT_LE(taken.numbers, told);
      EXPECT_EQ(taken.numbers > 0, told > 0);
      EXPECT_EQ(taken.trials, feedback->makes_trials());
    }
  }
}

}  // namespace
}  // namespace dsf
