// What a week of use does to runs: settings given twice, copies, names and directories of others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/program_fixture.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class EverydayUse : public ProgramTest {
 protected:
  json eval(const std::string& run, const Words& more = {}) const {
    return json::parse(run_ok(joined({"eval", path(run), "--json"}, more)));
  }
};

TEST_F(EverydayUse, BitsPerByteDoNotFallWithTheVocabulary) {
  run_ok(train("all", {"--steps", "20"}));
  const std::string said = run_ok(train("few", {"--steps", "20", "--set", "data.vocab=5"}));
  EXPECT_THAT(said, HasSubstr("of the validation tokens are <unk>"));
  EXPECT_EQ(eval("all")["unknown_rate"], 0.0);
  EXPECT_GT(eval("few")["unknown_rate"], 0.5);
  EXPECT_LT(eval("few")["perplexity"], eval("all")["perplexity"]);
  EXPECT_GT(eval("few")["bits_per_byte"], eval("all")["bits_per_byte"]);
  // Words that no model knows are not told in less than their letters.
  const fs::path strange = directory_.write("strange.txt", "qqqq xxxx zzzz\nyyyy qqqq\n");
  EXPECT_GT(eval("all", {"--text", strange})["bits_per_byte"].get<double>(), 7.0);
  EXPECT_THAT(run_ok({"eval", path("all")}), HasSubstr("unknown tokens      0.00 %"));
}

TEST_F(EverydayUse, StepsCountBeforeEpochsInAnyOrder) {
  const std::vector<Words> ways = {{"--steps", "4", "--set", "train.epochs=1"},
                                   {"--set", "train.epochs=1", "--steps", "4"},
                                   {"--epochs", "1", "--set", "train.steps=4"},
                                   {"--set", "train.steps=4", "--set", "train.epochs=1"}};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const std::string run = "way" + std::to_string(i);
    run_ok(train(run, ways[i]));
    EXPECT_EQ(log_of(run).back()["steps"], 4) << i;
  }
  EXPECT_THAT(run_ok({"train", "--help"}), HasSubstr("count before epochs given beside them"));
  // The command line counts before a file.
  const std::string file = directory_.write("steps.toml", "[train]\nsteps = 4\n");
  run_ok(train("file", {"--config", file, "--epochs", "1"}));
  EXPECT_GT(log_of("file").back()["steps"], 4);
}

TEST_F(EverydayUse, AContradictionIsNamedWhereItWasSaidLast) {
  run_ok(train("run", {"--steps", "2", "--feedback", "dsf"}));
  const std::string file = directory_.write("f.toml", "[feedback]\nmethod = \"dsf\"\n");
  const ProgramResult result = run_dsf({"train", "--out", path("run"), "--config", file,
                                        "--feedback", "bptt", "--resume", "--steps", "4"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("--feedback: feedback.method = \"bptt\""), Not(HasSubstr("f.toml"))));
}

TEST_F(EverydayUse, AResumeWithNothingToDoChangesNothing) {
  run_ok(train("run", {"--steps", "4"}));
  const auto before = snapshot(path("run"));
  EXPECT_THAT(run_ok({"train", "--out", path("run"), "--resume", "--lr", "0.5"}),
              HasSubstr("nothing left to do"));
  EXPECT_EQ(snapshot(path("run")), before);
}

TEST_F(EverydayUse, ACopyWithLinksFollowedGoesOn) {
  run_ok(train("run", {"--steps", "4"}));
  const std::string copy = path("copy");
  ASSERT_EQ(run_program({"cp", "-rL", path("run"), copy}).exit_code, 0);
  ASSERT_FALSE(fs::is_symlink(copy + "/checkpoints/last"));
  run_ok({"train", "--out", copy, "--resume", "--steps", "8", "--quiet"});
  EXPECT_TRUE(fs::is_symlink(copy + "/checkpoints/last"));
  EXPECT_EQ(eval("copy")["step"], 8);
}

TEST_F(EverydayUse, TooLargeAModelIsRefusedBeforeItIsBuilt) {
  const ProgramResult result =
      run_dsf(train("run", {"--steps", "1", "--set", "model.hidden=100000"}));
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("GB of memory"), HasSubstr("--force-memory")));
  EXPECT_FALSE(fs::exists(path("run")));
  run_ok(train("small", {"--steps", "1", "--force-memory"}));
}

TEST_F(EverydayUse, ForceReplacesRunsOfThisProgramOnly) {
  directory_.write("other/config.toml", "[server]\nname = \"mine\"\n");
  directory_.write("other/log.jsonl", "{\"level\":\"info\"}\n");
  directory_.write("other/checkpoints/precious.bin", "precious");
  const auto before = snapshot(path("other"));
  const ProgramResult result = run_dsf(train("other", {"--steps", "1", "--force"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("not those of a run of dsf"));
  EXPECT_EQ(snapshot(path("other")), before);
}

TEST_F(EverydayUse, ForceLeavesFilesOfOthersInsideARun) {
  run_ok(train("run", {"--steps", "4", "--tensorboard"}));
  directory_.write("run/checkpoints/notes.txt", "mine");
  directory_.write("run/checkpoints/kept.tmp/file", "mine");
  directory_.write("run/tensorboard/notes.txt", "mine");
  run_ok(train("run", {"--steps", "2", "--force"}));
  run_ok({"train", "--out", path("run"), "--resume", "--steps", "4", "--quiet"});
  EXPECT_EQ(slurp(path("run/checkpoints/notes.txt")), "mine");
  EXPECT_EQ(slurp(path("run/checkpoints/kept.tmp/file")), "mine");
  EXPECT_EQ(slurp(path("run/tensorboard/notes.txt")), "mine");
  for (const auto& entry : fs::directory_iterator(path("run/tensorboard"))) {
    EXPECT_EQ(entry.path().filename(), "notes.txt");
  }
}

TEST_F(EverydayUse, RunsShowsTheSpeedThatTrainingTold) {
  run_ok(train("run", {"--steps", "30", "--set", "train.log_every=1"}));
  const json runs = json::parse(run_ok({"runs", path("run"), "--json"}));
  EXPECT_EQ(runs[0]["tokens_per_second"], log_of("run").back()["tokens_per_second"]);
}

}  // namespace
}  // namespace dsf
