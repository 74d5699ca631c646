// The real program doing what it is for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/environment_variable.h"
#include "tests/support/program_fixture.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class Commands : public ProgramTest {};

TEST_F(Commands, HelpAndVersionAreNoErrors) {
  EXPECT_THAT(run_ok({"--help"}), HasSubstr("train"));
  EXPECT_THAT(run_ok({"--version"}), HasSubstr("dsf "));
  EXPECT_THAT(run_ok({"train", "--help"}), HasSubstr("--feedback"));
  EXPECT_THAT(run_ok({"train", "--help-config"}), HasSubstr("weight_decay = 0.0"));
}

TEST_F(Commands, TrainThenEvalAgreeOnTheBestPerplexity) {
  run_ok(train("run", {"--steps", "12", "--eval-every", "5", "--feedback", "bptt"}));
  const std::vector<json> log = log_of("run");
  const json& done = log.back();
  ASSERT_EQ(done["event"], "done");
  const json report = json::parse(run_ok({"eval", path("run"), "--json"}));
  // The same weights, the same batches, the same code.
  EXPECT_EQ(report["perplexity"], done["best_perplexity"]);
  EXPECT_EQ(report["step"], done["best_step"]);
  EXPECT_DOUBLE_EQ(std::exp(report["loss"].get<double>()), report["perplexity"].get<double>());
  const json test = json::parse(run_ok({"eval", path("run"), "--split", "test", "--json"}));
  EXPECT_GT(test["tokens"].get<int>(), 0);
  EXPECT_THAT(run_ok({"eval", path("run"), "--checkpoint", "last"}), HasSubstr("perplexity"));
}

TEST_F(Commands, LogHasThePromisedEvents) {
  run_ok(train("run", {"--epochs", "1", "--set", "train.log_every=1"}));
  int train_lines = 0;
  int eval_lines = 0;
  for (const json& line : log_of("run")) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : line.items()) keys.push_back(key);
    if (line["event"] == "train") {
      ++train_lines;
      EXPECT_EQ(line["step"], train_lines);
      EXPECT_THAT(keys, IsSupersetOf({"epoch", "loss", "tokens_per_second", "learning_rate"}));
    }
    if (line["event"] == "eval") {
      ++eval_lines;
      EXPECT_EQ(line["epoch"], 1.0);
      EXPECT_EQ(line["split"], "valid");
      EXPECT_THAT(keys, IsSupersetOf({"step", "loss", "perplexity"}));
    }
  }
  EXPECT_GT(train_lines, 20);
  EXPECT_EQ(eval_lines, 1);
}

TEST_F(Commands, ResumeGoesOn) {
  run_ok(train("run", {"--steps", "6"}));
  run_ok({"train", "--resume", "--out", path("run"), "--steps", "9"});
  EXPECT_EQ(log_of("run").back()["steps"], 9);
}

TEST_F(Commands, ResumeOfAFinishedRunSaysHowToGoFurther) {
  run_ok(train("run", {"--steps", "6"}));
  const std::string said = run_ok({"train", "--resume", "--out", path("run")});
  EXPECT_THAT(said, AllOf(HasSubstr("nothing left to do"), HasSubstr("--steps 12")));
}

TEST_F(Commands, ResumeOfAFinishedRunLeavesItsLogAlone) {
  run_ok(train("run", {"--steps", "6"}));
  const auto before = snapshot(directory_ / "run");
  run_ok({"train", "--resume", "--out", path("run")});
  EXPECT_EQ(snapshot(directory_ / "run"), before);
}

TEST_F(Commands, ResumeToAnEarlierStepIsRefused) {
  run_ok(train("run", {"--steps", "6"}));
  const auto before = snapshot(directory_ / "run");
  const ProgramResult result = run_dsf({"train", "--resume", "--out", path("run"), "--steps", "5"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("at step 6 already"));
  EXPECT_EQ(snapshot(directory_ / "run"), before);
}

TEST_F(Commands, ResumeOfASavedRunWithoutItsCheckpointsIsRefused) {
  run_ok(train("run", {"--steps", "6"}));
  fs::rename(directory_ / "run/checkpoints", directory_ / "elsewhere");
  const auto before = snapshot(directory_ / "run");
  const ProgramResult result = run_dsf({"train", "--resume", "--out", path("run")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("says that it was saved"));
  EXPECT_EQ(snapshot(directory_ / "run"), before);
}

// The first file opened takes the place of a closed stream.
TEST_F(Commands, MessagesDoNotGetIntoFilesWhereStandardStreamsAreClosed) {
  for (const char* closed : {"<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    std::string line = dsf_program();
    for (const std::string& word : train("run", {"--steps", "4", "--force"})) line += " " + word;
    const int shell = start_program({"sh", "-c", line + " " + closed}, path("shell"));
    wait_for(shell);
    for (const json& event : log_of("run")) EXPECT_TRUE(event.contains("event")) << closed;
    EXPECT_EQ(log_of("run").back()["event"], "done") << closed;
    EXPECT_THAT(slurp(directory_ / "run/metrics.csv"), Not(HasSubstr("starting"))) << closed;
  }
}

TEST_F(Commands, TextLeftOutOfLongLinesIsTold) {
  EXPECT_THAT(run_dsf(train("run", {"--steps", "2", "--context", "2"})).err,
              HasSubstr("tokens are left out"));
  EXPECT_THAT(run_dsf({"eval", path("run")}).err, HasSubstr("tokens are left out"));
  EXPECT_THAT(run_dsf(train("whole", {"--steps", "2", "--batching", "blocks"})).err,
              Not(HasSubstr("left out")));
}

TEST_F(Commands, EvalOfATextThatHasChangedSaysSo) {
  run_ok(train("run", {"--steps", "2"}));
  EXPECT_THAT(run_dsf({"eval", path("run")}).err, Not(HasSubstr("is not the text")));
  directory_.write("text.txt", slurp(directory_ / "text.txt") + "one line more\n");
  EXPECT_THAT(run_dsf({"eval", path("run")}).err, HasSubstr("is not the text"));
}

TEST_F(Commands, NumbersOutOfRangeAreToldWhatWouldBeRight) {
  run_ok(train("run", {"--steps", "2"}));
  for (const char* wrong : {"0", "-1", "1.5", "many"}) {
    const ProgramResult result = run_dsf({"generate", path("run"), "--count", wrong});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("whole number from 1 to")) << wrong;
  }
}

TEST_F(Commands, CurrentDirectoryDoesNotMatterToEval) {
  const ProgramResult trained = run_dsf({"train", "--data", "text.txt", "--out", "run", "--steps",
                                         "3", "--set", "model.hidden=4", "--set", "train.batch=4"},
                                        directory_.path());
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  run_ok({"eval", path("run")});
}

TEST_F(Commands, DamagedCheckpointMakesEvalFailWhileWorking) {
  run_ok(train("run", {"--steps", "3"}));
  std::ofstream(directory_ / "run" / "checkpoints" / "best" / "weights.safetensors", std::ios::app)
      << "x";
  const ProgramResult result = run_dsf({"eval", path("run")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("weights.safetensors"));
}

// The best checkpoint is the newest here, and the one before it is still there.
TEST_F(Commands, DamagedBestCheckpointGivesWayToTheNewestWholeOneUnlessItWasNamed) {
  run_ok(train("run", {"--steps", "4", "--set", "train.checkpoint_every=2"}));
  const fs::path checkpoints = directory_ / "run" / "checkpoints";
  ASSERT_EQ(fs::read_symlink(checkpoints / "best"), "step-00000004");
  std::ofstream(checkpoints / "best" / "weights.safetensors", std::ios::app) << "x";

  const ProgramResult evaluated = run_dsf({"eval", path("run"), "--json"});
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_THAT(evaluated.err,
              AllOf(HasSubstr("best/weights.safetensors: damaged"), HasSubstr("step-00000002")));
  const json report = json::parse(evaluated.out);
  EXPECT_EQ(report["checkpoint"], "step-00000002");
  EXPECT_EQ(report["step"], 2);

  for (const Words& command :
       {Words{"generate", path("run"), "--prompt", "the", "--tokens", "2"},
        {"export", path("run"), "--out", path("model.safetensors"), "--force"},
        {"eval", path("run")}}) {
    const ProgramResult without = run_dsf(command);
    EXPECT_EQ(without.exit_code, 0) << without.err;
    EXPECT_THAT(without.err, HasSubstr("the newest checkpoint that is whole"));
    const ProgramResult named = run_dsf(joined(command, {"--checkpoint", "best"}));
    EXPECT_EQ(named.exit_code, 1);
    EXPECT_THAT(named.err, HasSubstr("best/weights.safetensors: damaged"));
  }
}

TEST_F(Commands, SignalSavesAndExitsCleanlyAndTheRunGoesOn) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string run = "run" + std::to_string(signal);
    const int process = start_dsf(train(run, {"--steps", "100000000", "--eval-every", "100000000"}),
                                  path(run + ".log"));
    for (int i = 0;
         i < 600 && slurp(directory_ / run / "log.jsonl").find("train") == std::string::npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ASSERT_EQ(kill(process, signal), 0);
    EXPECT_EQ(wait_for(process), 0) << slurp(path(run + ".log.err"));
    EXPECT_THAT(slurp(path(run + ".log.out")), HasSubstr("--resume"));
    EXPECT_THAT(slurp(path(run + ".log.err")), HasSubstr("stopping: "));
    // Not evaluated yet: the last checkpoint stands in for the best one.
    EXPECT_THAT(run_ok({"eval", path(run)}), HasSubstr("(last, step "));
    const json last = log_of(run).back();
    EXPECT_EQ(last["event"], "interrupted");
    const auto step = last["step"].get<long>();
    run_ok({"train", "--resume", "--out", path(run), "--steps", std::to_string(step + 2)});
    EXPECT_EQ(log_of(run).back()["steps"], step + 2);
  }
}

TEST_F(Commands, InfoTellsMachineAndParameterCount) {
  const json machine = json::parse(run_ok({"info", "--json"}));
  EXPECT_FALSE(machine.contains("parameters"));
  EXPECT_TRUE(machine.contains("version"));
  EXPECT_TRUE(machine["precision"] == "f32" || machine["precision"] == "bf16");
  EXPECT_THAT(machine["features"], ::testing::Contains("avx2"));
  EXPECT_THAT(run_ok({"info"}), HasSubstr("precision"));
  EXPECT_TRUE(
      json::parse(run_ok({"info", "--set", "data.vocab=50", "--json"})).contains("parameters"));
  EXPECT_EQ(run_dsf({"info", "--data", path("none")}).exit_code, 2);
  EXPECT_EQ(run_dsf({"info", "--config", ""}).exit_code, 2);
}

TEST_F(Commands, InfoTellsHowBf16IsMultiplied) {
  const json machine = json::parse(run_ok({"info", "--json"}));
  EXPECT_THAT(machine["bf16"], ::testing::AnyOf("amx", "avx512_bf16", "emulated"));
  EXPECT_EQ(machine["precision"] == "bf16", machine["bf16"] != "emulated");
}

TEST_F(Commands, MaxIsaLimitsTheInstructionSets) {
  {
    const testing::EnvironmentVariable limit("DSF_MAX_ISA", "avx2");
    const json machine = json::parse(run_ok({"info", "--json"}));
    EXPECT_EQ(machine["max_isa"], "avx2");
    EXPECT_EQ(machine["bf16"], "emulated");
    EXPECT_EQ(machine["precision"], "f32");
  }
  const testing::EnvironmentVariable wrong("DSF_MAX_ISA", "sse4");
  const ProgramResult result = run_dsf({"info"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("DSF_MAX_ISA=sse4"));
  EXPECT_THAT(result.err, HasSubstr("avx2, avx512, avx512_bf16 or amx"));
}

TEST_F(Commands, InfoCountsTheParametersOfEveryShippedConfig) {
  int configs = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(DSF_SOURCE_DIR) / "configs" / "ptb")) {
    if (entry.path().extension() != ".toml") continue;
    ++configs;
    const json info = json::parse(run_ok({"info", "--config", entry.path(), "--json"}));
    const long D = info["hidden"].get<long>();
    const long L = info["layers"].get<long>();
    const long V = info["vocab"].get<long>();
    // Embedding V D; a GRU layer W and U of 3D x D and two biases of 3D; head V D + V.
    EXPECT_EQ(info["parameters"], V * D + L * (6 * D * D + 6 * D) + V * D + V) << entry.path();
  }
  EXPECT_GE(configs, 4);
}

}  // namespace
}  // namespace dsf
