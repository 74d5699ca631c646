// The recall language with a gap of up to 32: what temporal credit is worth, end to end.

#include <gtest/gtest.h>

#include <cmath>

#include "dsf/data/synthetic_recall.h"
#include "dsf/train/training_run.h"
#include "dsf/use/evaluation.h"
#include "dsf/use/stored_model.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

constexpr const char* kLanguage = "gap=32";
constexpr std::uint64_t kTrainingSeed = 1;
constexpr std::uint64_t kOtherSeed = 2;

/// Of the loss that memory can save over guessing, the part that training saved: 0 guesses, 1
/// remembers every value.
struct Learned {
  double all_gaps = 0.0;     ///< as frequent as in training
  double longest_gap = 0.0;  ///< on answers over the longest gap alone
};

/// Short gaps are frequent: the loss of the whole text hardly shows what is forgotten over the
/// longest.
double learned_over_longest_gap(const std::filesystem::path& run) {
  RecallConfig language = parse_recall(kLanguage);
  language.min_gap = language.gap;
  const StoredModel stored = open_stored_model(run, "best", 0);
  const Split lines = make_split(*stored.tokenizer, generate_recall(language, kOtherSeed).valid);
  double loss_before = 0.0;
  double answer_loss = 0.0;
  dim_t answers = 0;
  evaluate_tokens(lines, stored.config, stored.tokenizer->bos(), *stored.model,
                  [&](token_t target, double loss) {
                    if (target == stored.tokenizer->eos()) {  // a line's last word is the answer
                      answer_loss += loss_before;
                      ++answers;
                    }
                    loss_before = loss;
                  });
  EXPECT_EQ(answers, language.eval_lines);
  const double guess = std::log(static_cast<double>(language.values));
  return 1.0 - answer_loss / static_cast<double>(answers) / guess;
}

Learned train_recall(const std::string& method) {
  const TempDirectory directory;
  RunRequest request;
  request.out = directory / method;
  request.assignments = parse_assignments(
      {std::string("data.corpus=synthetic:recall:") + kLanguage, "model.mixer=gru",
       "model.hidden=64", "train.batch=64", "train.lr=0.005", "train.steps=2000",
       "train.eval_every=500", "train.precision=f32", "train.seed=" + std::to_string(kTrainingSeed),
       "feedback.method=" + method});
  TrainObserver silent;
  const RunSummary summary = run_training(request, silent);
  const RecallBounds bounds = recall_bounds(parse_recall(kLanguage));
  return {
      (bounds.no_memory - summary.best_loss.value()) / (bounds.no_memory - bounds.perfect_memory),
      learned_over_longest_gap(request.out)};
}

// The validation text is a sample of 500 lines, so that the bounds, which are expectations, hold to
// about 0.05 in this unit.
constexpr double kRemembers = 0.85;
constexpr double kNearChance = 0.15;
// Who knows nothing of a value does not get above 0 here, except by chance; who knows every second
// value for sure and guesses the others is at 0.5.
constexpr double kRemembersOverLongestGap = 0.5;

void expect_learned(const Learned& learned) {
  EXPECT_GT(learned.all_gaps, kRemembers);
  EXPECT_GT(learned.longest_gap, kRemembersOverLongestGap);
}

TEST(Recall, BpttLearnsIt) { expect_learned(train_recall("bptt")); }
TEST(Recall, DsfLearnsIt) { expect_learned(train_recall("dsf")); }
TEST(Recall, FtBpttStaysNearChance) {
  const Learned learned = train_recall("ft");
  EXPECT_LT(learned.all_gaps, kNearChance);
  EXPECT_LT(learned.longest_gap, kNearChance);
}

}  // namespace
}  // namespace dsf
