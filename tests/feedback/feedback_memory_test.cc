// A feedback says what memory its run() takes.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/feedback/recording_cell.h"
#include "tests/support/every_feedback.h"
#include "tests/support/layouts.h"

namespace dsf {
namespace {

struct Taken {
  dim_t numbers = 0;
  dim_t trial_slots = 0;
};

dim_t numbers_in(const FeedbackWorkspace& work) {
  dim_t numbers = work.scan.carries.size() + work.scan.spectra.size();
  for (const Matrix* matrix : {&work.errors, &work.step_errors, &work.rest, &work.guess,
                               &work.carried, &work.power, &work.square}) {
    numbers += matrix->rows() * matrix->cols();
  }
  return numbers;
}

// Over two batches, the first of which goes back exactly where the feedback learns from it.
Taken taken_by(Feedback& feedback, const PackedLayout& layout) {
  const Problem problem(layout);
  FeedbackWorkspace work;
  Taken taken;
  for (int batch = 0; batch < 2; ++batch) {
    RecordingCell cell(problem.layout, problem.jacobian);
    Grid<float> g = problem.e;
    feedback.run(problem.layout, cell, work, g.view());
    taken.trial_slots = std::max(taken.trial_slots, cell.trial.rows / kSpanRows);
  }
  taken.numbers = numbers_in(work);
  return taken;
}

void expect_at_most_what_it_says(const std::string& method, const std::string& scan,
                                 const PackedLayout& layout) {
  SCOPED_TRACE(method + " " + scan + " over " + std::to_string(layout.steps()) + " steps");
  FeedbackConfig config = config_of(method, scan);
  config.calibration = 1;
  const auto feedback = make_feedback(config, kState, 1, "layer");
  const dim_t told =
      feedback->workspace_numbers({layout.total_rows(), kState, layout.steps(), layout.batch()});
  const Taken taken = taken_by(*feedback, layout);
  EXPECT_LE(taken.numbers, told);
  EXPECT_EQ(taken.numbers > 0, told > 0);
  EXPECT_EQ(taken.trial_slots, feedback->trial_slots(layout.batch()));
}

// Two rows are fewer than units: matrices [S, S] outweigh all others. Long sequences are cut in
// time, one of 300 steps by `auto` too.
TEST(FeedbackMemory, OfEveryMethodIsAtMostWhatItSays) {
  for (const std::string& method : testing::every_feedback()) {
    for (const char* scan : {"auto", "blocked", "fft"}) {
      for (const PackedLayout& layout : {kLayout, PackedLayout::uniform(2, 1), long_ragged_layout(),
                                         PackedLayout::uniform(300, 1)}) {
        expect_at_most_what_it_says(method, scan, layout);
      }
    }
  }
}

}  // namespace
}  // namespace dsf
