#include "dsf/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <tuple>

#include "dsf/base/error.h"
#include "dsf/base/rng.h"
#include "dsf/kernels/gemm_tiles.h"
#include "dsf/kernels/parallel.h"
#include "dsf/kernels/slices.h"
#include "tests/train/small_run.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

using Case = std::tuple<const char*, const char*>;  // precision, method

class EqualRuns : public ::testing::TestWithParam<Case> {
 protected:
  std::vector<Assignment> settings(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {std::string("train.precision=") + std::get<0>(GetParam()),
                                    std::string("feedback.method=") + std::get<1>(GetParam()),
                                    "train.steps=20"};
    all.insert(all.end(), more.begin(), more.end());
    return small_settings(corpus_, all);
  }
  TempDirectory directory_;
  fs::path corpus_ = directory_.write("text.txt", small_text(150));
};

TEST_P(EqualRuns, OneSeedGivesTheSameLossesAndCheckpointBytes) {
  small_run(directory_ / "a", settings({"train.seed=3"}));
  small_run(directory_ / "b", settings({"train.seed=3"}));
  small_run(directory_ / "c", settings({"train.seed=4"}));
  EXPECT_EQ(losses_of(directory_ / "a"), losses_of(directory_ / "b"));
  EXPECT_EQ(snapshot(directory_ / "a" / "checkpoints"), snapshot(directory_ / "b" / "checkpoints"));
  EXPECT_NE(losses_of(directory_ / "a"), losses_of(directory_ / "c"));
}

// Sizes with which products, walks through time, the optimiser (chunks of 65536 weights), embedding
// and softmax have several tasks.
constexpr dim_t kHidden = 304;
constexpr dim_t kGateColumns = 3 * kHidden;
constexpr dim_t kBatch = 96;
constexpr dim_t kContext = 40;
constexpr dim_t kVocabulary = 640;
constexpr dim_t kShortestLine = 30;

/// Lines of different lengths, the longest as long as the context; the words are random.
std::string text_of_many_words(dim_t lines, std::uint64_t seed) {
  Rng rng(seed, "text_of_many_words");
  std::string text;
  for (dim_t line = 0; line < lines; ++line) {
    const dim_t length = kShortestLine + rng.below(kContext - kShortestLine);
    for (dim_t i = 0; i < length; ++i) text += "w" + std::to_string(rng.below(kVocabulary)) + " ";
    text.back() = '\n';
  }
  return text;
}

TEST_P(EqualRuns, NumberOfThreadsChangesNothing) {
  const dim_t rows = kBatch * kShortestLine;
  ASSERT_GT(choose_panel_tiles(rows, kGateColumns, kHidden).count(), 1) << "input products";
  ASSERT_GT(choose_packed_grid(kGateColumns, kHidden, rows, 4).tasks(), 1) << "weight gradients";
  ASSERT_LT(slice_rows(kBatch, kGateColumns * kHidden), kBatch) << "walks through time";
  // The second batch of an epoch is a single slice: its steps are cut by columns.
  constexpr dim_t kOneSlice = 31;
  ASSERT_EQ(slice_rows(kOneSlice, kGateColumns * kHidden), kOneSlice);
  ASSERT_GT(choose_panel_tiles(kOneSlice, kGateColumns, kHidden).count(), 1)
      << "recurrent products";
  directory_.write("corpus/train.txt", text_of_many_words(kBatch + kOneSlice, 1));
  directory_.write("corpus/valid.txt", text_of_many_words(kOneSlice, 2));

  const int threads = thread_count();
  for (const char* count : {"1", "2"}) {
    small_run(directory_ / count,
              settings({"data.corpus=" + (directory_ / "corpus").string(),
                        "data.context=" + std::to_string(kContext),
                        "model.hidden=" + std::to_string(kHidden),
                        "train.batch=" + std::to_string(kBatch), "train.steps=3",
                        std::string("train.threads=") + count}));
  }
  set_thread_count(threads);
  EXPECT_EQ(losses_of(directory_ / "1"), losses_of(directory_ / "2"));
  EXPECT_TRUE(snapshot(directory_ / "1" / "checkpoints") ==
              snapshot(directory_ / "2" / "checkpoints"))
      << "too large to print";
}

INSTANTIATE_TEST_SUITE_P(Precisions, EqualRuns,
                         ::testing::Combine(::testing::Values("f32", "bf16"),
                                            ::testing::Values("dsf", "bptt", "ft")));

class SmallTraining : public ::testing::Test {
 protected:
  TempDirectory directory_;
  fs::path corpus_ = directory_.write("text.txt", small_text(150));
};

TEST_F(SmallTraining, LowersTheValidationLoss) {
  const RunSummary summary = small_run(
      directory_ / "run", small_settings(corpus_, {"train.steps=200", "train.eval_every=20"}));
  // 17 equally likely words and the line end; the text's own structure allows about 5.
  ASSERT_TRUE(summary.best_perplexity.has_value());
  EXPECT_LT(*summary.best_perplexity, 10.0);
}

TEST_F(SmallTraining, LeavesARunDirectoryAsPromised) {
  small_run(directory_ / "run", small_settings(corpus_, {"train.steps=20"}));
  for (const char* name :
       {"config.toml", "log.jsonl", "metrics.csv", "tokenizer",
        "checkpoints/last/weights.safetensors", "checkpoints/best/weights.safetensors"}) {
    EXPECT_TRUE(fs::is_regular_file(directory_ / "run" / name)) << name;
  }
  const std::string log = slurp(directory_ / "run" / "log.jsonl");
  const std::size_t last_line = log.rfind('\n', log.size() - 2) + 1;
  const auto done = nlohmann::json::parse(log.substr(last_line));
  EXPECT_EQ(done["event"], "done");
  EXPECT_EQ(done["steps"], 20);
  double best = std::numeric_limits<double>::infinity();
  for (const std::string& line : losses_of(directory_ / "run")) {
    const auto json = nlohmann::json::parse(line);
    if (json["event"] == "eval") best = std::min(best, json["perplexity"].get<double>());
  }
  EXPECT_EQ(done["best_perplexity"].get<double>(), best);
}

TEST_F(SmallTraining, ValidationDoesNotDisturbTheCarriedState) {
  const auto weights_with = [&](const char* name, const char* eval_every) {
    small_run(directory_ / name,
              small_settings(corpus_, {"data.batching=stream", "train.steps=12", eval_every}));
    return slurp(directory_ / name / "checkpoints" / "last" / "weights.safetensors");
  };
  EXPECT_EQ(weights_with("often", "train.eval_every=1"),
            weights_with("seldom", "train.eval_every=12"));
}

TEST_F(SmallTraining, CarriedStateMatters) {
  // Were the state dropped between batches, streams and blocks of the same text would train alike
  // in every respect but order; here the state is what the second step of a stream starts from.
  RunConfig config = with_assignments(
      RunConfig(), small_settings(corpus_, {"data.batching=stream", "train.steps=2"}));
  const Dataset data = load_dataset(config.data, 1);
  LanguageModel model(config.model, config.feedback, data.tokenizer->vocab_size(), 1);
  fs::create_directories(directory_ / "run");
  Trainer trainer(config, data, model, {directory_ / "run"});
  TrainObserver observer;
  trainer.run(observer, [] { return 0; });
  ASSERT_EQ(trainer.state().carried.size(), 2U);
  const ConstMatrixF carried = trainer.state().carried[0].view();
  EXPECT_EQ(carried.rows, 8);
  EXPECT_TRUE(std::any_of(carried.data, carried.data + carried.rows * carried.cols,
                          [](float v) { return v != 0.0F; }));
}

TEST_F(SmallTraining, DivergenceStopsBeforeTheUpdateAndNamesStepAndParameter) {
  RunConfig config = with_assignments(RunConfig(), small_settings(corpus_, {"train.steps=10"}));
  const Dataset data = load_dataset(config.data, 1);
  LanguageModel model(config.model, config.feedback, data.tokenizer->vocab_size(), 1);
  std::ranges::fill(model.mutable_weights(), std::numeric_limits<float>::infinity());
  fs::create_directories(directory_ / "run");
  Trainer trainer(config, data, model, {directory_ / "run"});
  TrainObserver observer;
  try {
    trainer.run(observer, [] { return 0; });
    FAIL() << "no error";
  } catch (const DivergenceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("step 1"));
    EXPECT_THAT(error.what(), HasSubstr("first not finite: "));
    EXPECT_THAT(error.what(), HasSubstr(model.table().entries().front().name));
  }
  EXPECT_EQ(trainer.state().adam.updates, 0);
  EXPECT_TRUE(std::ranges::all_of(model.weights(), [](float w) { return w > 0.0F; }));
  EXPECT_THAT(slurp(directory_ / "run" / "log.jsonl"), HasSubstr("diverged"));
}

TEST_F(SmallTraining, ForceReplacesARunAndKeepsWhatIsNotItsOwn) {
  small_run(directory_ / "run", small_settings(corpus_, {"train.steps=5"}));
  directory_.write("run/notes.txt", "mine");
  TrainObserver observer;
  run_training({directory_ / "run", small_settings(corpus_, {"train.steps=3"}), false, true},
               observer);
  EXPECT_EQ(slurp(directory_ / "run" / "notes.txt"), "mine");
  EXPECT_THAT(slurp(directory_ / "run" / "config.toml"), HasSubstr("steps = 3"));
  EXPECT_EQ(list_checkpoints(directory_ / "run" / "checkpoints").size(), 1U);
}

TEST_F(SmallTraining, StopThatWasAskedForWhileTheTextWasReadChangesNoFile) {
  small_run(directory_ / "run", small_settings(corpus_, {"train.steps=5"}));
  const auto before = snapshot(directory_.path());
  const std::vector<Assignment> other = small_settings(corpus_, {"train.steps=3"});
  const std::vector<RunRequest> requests = {
      {directory_ / "run", other, /*resume=*/false, /*force=*/true},
      {directory_ / "run", {parse_assignment("train.steps=9")}, /*resume=*/true, /*force=*/false},
      {directory_ / "new", other, /*resume=*/false, /*force=*/false}};
  for (const RunRequest& request : requests) {
    SCOPED_TRACE(request.out.string() + (request.resume ? ", resumed" : ""));
    TrainObserver observer;
    const RunSummary summary = run_training(request, observer, [] { return SIGTERM; });
    EXPECT_TRUE(summary.interrupted);
    EXPECT_EQ(summary.steps, request.resume ? 5 : 0);
    EXPECT_TRUE(snapshot(directory_.path()) == before) << "too large to print";
  }
}

TEST_F(SmallTraining, RequestToSaveStopsNoRun) {
  TrainObserver observer;
  const RunSummary summary =
      run_training({directory_ / "run", small_settings(corpus_, {"train.steps=3"}), false, false},
                   observer, [] { return SIGUSR1; });
  EXPECT_FALSE(summary.interrupted);
  EXPECT_EQ(summary.steps, 3);
}

TEST_F(SmallTraining, ForceNeverTouchesADirectoryThatIsNoRun) {
  directory_.write("mine/config.toml", "[data]\n");
  directory_.write("mine/thesis.tex", "years of work");
  const auto before = snapshot(directory_.path());
  TrainObserver observer;
  EXPECT_THROW(
      run_training({directory_ / "mine", small_settings(corpus_, {}), false, true}, observer),
      UsageError);
  EXPECT_EQ(snapshot(directory_.path()), before);
}

}  // namespace
}  // namespace dsf
