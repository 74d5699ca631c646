// Small things that a week of use finds.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "tests/support/program_fixture.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SmallMatters : public ProgramTest {
 protected:
  /// Runs a shell command line with $DSF for the program.
  ProgramResult shell(const std::string& line) const {
    return run_program({"env", "DSF=" + dsf_program(), "bash", "-c", line}, directory_.path());
  }
};

TEST_F(SmallMatters, ATextOfOneLineIsCutInsideIt) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "word" + std::to_string(i % 50) + " ";
  directory_.write("text.txt", text);
  for (const Words& way :
       {Words{"--tokenizer", "char", "--batching", "stream"},
        Words{"--tokenizer", "byte", "--batching", "blocks"},
        Words{"--tokenizer", "word", "--batching", "stream"}, Words{"--tokenizer", "char"}}) {
    const ProgramResult result = run_dsf(train("run", joined({"--steps", "2", "--force"}, way)));
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  const ProgramResult refused =
      run_dsf(train("run", {"--steps", "2", "--force", "--tokenizer", "word"}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("data.test"), HasSubstr("stream")));
  run_ok({"tokenizer", "train", "--data", path("text.txt"), "--kind", "word", "--out", path("t")});
  run_ok({"data", "check", path("text.txt")});
}

TEST_F(SmallMatters, ListsTakeWordsAndCommas) {
  // One thread: on a busy machine two of OpenMP's wait for each other until the time is used up.
  const Words quick = {"--seconds", "30",      "--json", "--batch",  "1", "--threads",
                       "1",         "--steps", "2",      "--hidden", "8"};
  for (const Words& way : {Words{"--only", "gru", "lstm"}, Words{"--only", "gru,lstm"},
                           Words{"--only", "gru", "--only", "lstm"}}) {
    const json report = json::parse(run_ok(joined(joined({"bench", "layer"}, way), quick)));
    std::set<std::string> cells;
    for (const json& result : report["results"]) cells.insert(result["cell"]);
    EXPECT_THAT(cells, ::testing::ElementsAre("gru", "lstm"));
  }
  EXPECT_EQ(run_dsf(joined({"bench", "--only", "gru", "layer"}, quick)).exit_code, 0);
  run_ok(train("run", {"--steps", "2"}));
  for (const Words& way : {Words{"--feedback", "ft", "dsf"}, Words{"--feedback", "ft,dsf"}}) {
    const std::string said =
        run_ok(joined(joined({"gradient", path("run")}, way), {"--batches", "1"}));
    EXPECT_THAT(said, AllOf(HasSubstr("ft cos"), HasSubstr("dsf cos")));
  }
}

TEST_F(SmallMatters, OfAnOptionGivenTwiceTheLastCounts) {
  run_ok(train("run", {"--steps", "3", "--seed", "1", "--steps", "2", "--seed", "7"}));
  EXPECT_EQ(log_of("run").back()["steps"], 2);
  EXPECT_THAT(slurp(path("run/config.toml")), HasSubstr("seed = 7"));
}

TEST_F(SmallMatters, BenchLayerMeasuresEachShapeThreeTimes) {
  const json report = json::parse(
      run_ok({"bench", "layer", "--only", "gru", "--hidden", "16", "--steps", "64", "--batch",
              "1,2,4", "--precision", "f32", "--seconds", "0.01", "--json"}));
  ASSERT_FALSE(report["results"].empty());
  for (const json& result : report["results"]) EXPECT_GE(result["rounds"].get<int>(), 3);
}

TEST_F(SmallMatters, NegativeSeedsAreRefused) {
  run_ok(train("run", {"--steps", "2"}));
  EXPECT_EQ(run_dsf({"generate", path("run"), "--seed", "-1", "--tokens", "1"}).exit_code, 2);
}

TEST_F(SmallMatters, EncodingWordsKeepsLineEnds) {
  run_ok({"tokenizer", "train", "--data", path("text.txt"), "--kind", "word", "--out", path("t")});
  const std::string first = slurp(path("text.txt")).substr(0, slurp(path("text.txt")).find('\n'));
  directory_.write("two.txt", first + "\n" + first + "\n");
  const ProgramResult back = shell("$DSF tokenizer encode t < two.txt | $DSF tokenizer decode t");
  EXPECT_EQ(back.out, first + "\n" + first + "\n");
}

TEST_F(SmallMatters, AFileThatGrowsTooLargeIsAnError) {
  const ProgramResult result = shell(
      "ulimit -f 1; $DSF train --data text.txt --out run --steps 2 --set model.hidden=64 "
      "--quiet 2>&1");
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_THAT(result.out, HasSubstr("File too large"));
  for (const auto& [name, contents] : snapshot(path("run"))) {
    EXPECT_THAT(name, Not(HasSubstr(".tmp")));
  }
}

TEST_F(SmallMatters, InterruptedEvaluationLeavesNoHalfFile) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += "word" + std::to_string(i % 50) + " x\n";
  const std::string large = directory_.write("large.txt", text);
  run_ok(train("run", {"--steps", "2"}));
  const int process = start_dsf(
      {"eval", path("run"), "--text", large, "--per-token", path("out.csv")}, path("eval"));
  for (int i = 0; i < 500 && !fs::exists(path("out.csv.tmp")); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ::kill(process, SIGINT);
  EXPECT_EQ(wait_for(process), 1);
  EXPECT_FALSE(fs::exists(path("out.csv.tmp")));
  EXPECT_FALSE(fs::exists(path("out.csv")));
}

TEST_F(SmallMatters, AStretchedCosineIsSaidAloud) {
  run_ok(train("run", {"--steps", "10", "--set", "train.schedule=cosine"}));
  const ProgramResult result =
      run_dsf({"train", "--out", path("run"), "--resume", "--steps", "40", "--quiet"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("the learning rate rises"));
}

TEST_F(SmallMatters, Utf16IsNamed) {
  using namespace std::string_literals;
  const std::string file = directory_.write("utf16.txt", "\xFF\xFEh\0e\0l\0l\0o\0\n\0"s);
  EXPECT_THAT(run_dsf({"data", "check", file}).err, HasSubstr("UTF-16"));
  const std::string bare = directory_.write("bare.txt", "h\0e\0l\0l\0o\0\n\0"s);
  EXPECT_THAT(run_dsf({"data", "check", bare}).err, HasSubstr("UTF-16"));
}

TEST_F(SmallMatters, NamesThatAreNoUtf8AreListed) {
  run_ok(train("runs/a\xFF", {"--steps", "2"}));
  const ProgramResult result = run_dsf({"runs", path("runs"), "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out).size(), 1U);
}

TEST_F(SmallMatters, ErrorsOfTheFileSystemNameTheFileAlone) {
  directory_.write("file", "x");
  run_ok(train("run", {"--steps", "2", "--set", "train.log_every=1"}));
  const ProgramResult result = run_dsf({"plot", path("run"), "--out", path("file/plots")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("file/plots"), Not(HasSubstr("filesystem error"))));
}

TEST_F(SmallMatters, ARunWithoutItsLogCanBeEvaluated) {
  run_ok(train("run", {"--steps", "2"}));
  fs::remove(path("run/log.jsonl"));
  run_ok({"eval", path("run")});
}

TEST_F(SmallMatters, AnInterruptedDemoGoesOn) {
  const Words demo = joined(
      {"demo", "--text", path("text.txt"), "--out", path("demo"), "--set", "train.eval_every=10",
       "--set", "data.min_count=1", "--set", "train.batch=2", "--set", "data.context=8"},
      sets({"model.hidden=8", "train.steps=30"}));
  const Words shorter = joined(demo, sets({"train.steps=20"}));
  run_ok(shorter);
  fs::remove_all(path("demo/dsf"));  // as if it had been stopped before the third
  const ProgramResult result = run_dsf(demo);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(fs::exists(path("demo/warm-up")));
  EXPECT_EQ(log_of("demo/dsf").back()["steps"], 30);
  EXPECT_EQ(log_of("demo/bptt").back()["steps"], 30);
}

TEST_F(SmallMatters, InterruptedTokenizerTrainingStopsAtOnce) {
  std::string text;
  std::uint32_t state = 1;
  for (int i = 0; i < 400'000; ++i) {
    state = state * 1664525U + 1013904223U;
    text += static_cast<char>('a' + (state >> 24U) % 26);
    if (i % 9 == 8) text += i % 90 == 89 ? '\n' : ' ';
  }
  directory_.write("text.txt", text);
  const int process = start_dsf(train("run", {"--tokenizer", "bpe", "--steps", "2"}), path("bpe"));
  wait_until_it_handles(process, SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto begin = std::chrono::steady_clock::now();
  ::kill(process, SIGINT);
  wait_for(process);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_THAT(slurp(path("bpe.err")),
              AllOf(HasSubstr("no file is changed"), Not(HasSubstr("finished and saved"))));
  EXPECT_FALSE(fs::exists(path("run")));
}

}  // namespace
}  // namespace dsf
