// The recall language with a gap of up to 32: what temporal credit is worth, end to end.

#include <gtest/gtest.h>

#include "dsf/data/synthetic_recall.h"
#include "dsf/train/training_run.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

/// Of the loss that memory can save over guessing, the part that training with `method` saved:
/// 0 guesses, 1 remembers every value.
double recall_learned(const std::string& method) {
  const TempDirectory directory;
  RunRequest request;
  request.out = directory / method;
  request.assignments = parse_assignments(
      {"data.corpus=synthetic:recall:gap=32", "model.mixer=gru", "model.hidden=64",
       "train.batch=64", "train.lr=0.005", "train.steps=2000", "train.eval_every=500",
       "train.precision=f32", "train.seed=1", "feedback.method=" + method});
  TrainObserver silent;
  const RunSummary summary = run_training(request, silent);
  const RecallBounds bounds = recall_bounds(parse_recall("gap=32"));
  return (bounds.no_memory - summary.best_loss.value()) /
         (bounds.no_memory - bounds.perfect_memory);
}

// The validation text is a sample of 500 lines, so that the bounds, which are expectations, hold to
// about 0.05 in this unit.
TEST(Recall, BpttLearnsIt) { EXPECT_GT(recall_learned("bptt"), 0.85); }
TEST(Recall, DsfLearnsIt) { EXPECT_GT(recall_learned("dsf"), 0.85); }
TEST(Recall, FtBpttStaysNearChance) { EXPECT_LT(recall_learned("ft"), 0.15); }

}  // namespace
}  // namespace dsf
