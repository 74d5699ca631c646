// dsf eval on other text, as one stream, and token by token.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/program.h"
#include "tests/support/small_text.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class Eval : public ::testing::Test {
 protected:
  std::string path(std::string_view name) const { return directory_ / name; }

  void train(const std::string& tokenizer, const std::string& batching) const {
    directory_.write("text.txt", small_text(80));
    directory_.write("valid.txt", small_text(15, 9));
    const ProgramResult result = run_dsf({"train",
                                          "--data",
                                          path("text.txt"),
                                          "--valid",
                                          path("valid.txt"),
                                          "--out",
                                          path("run"),
                                          "--steps",
                                          "4",
                                          "--threads",
                                          "1",
                                          "--set",
                                          "model.hidden=8",
                                          "--set",
                                          "train.batch=4",
                                          "--set",
                                          "data.context=6",
                                          "--set",
                                          "data.tokenizer=" + tokenizer,
                                          "--set",
                                          "data.batching=" + batching});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  json eval(const Words& more) const {
    Words words = {"eval", path("run"), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = run_dsf(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? json::parse(result.out) : json::object();
  }

  TempDirectory directory_;
};

TEST_F(Eval, ATextFileIsEvaluatedAsASplitIs) {
  train("word", "sentences");
  EXPECT_EQ(eval({"--text", path("valid.txt")})["loss"], eval({})["loss"]);
  EXPECT_EQ(run_dsf({"eval", path("run"), "--text", path("none")}).exit_code, 2);
  EXPECT_EQ(
      run_dsf({"eval", path("run"), "--text", path("valid.txt"), "--split", "test"}).exit_code, 2);
}

TEST_F(Eval, AStreamCarriesTheStateOn) {
  train("char", "blocks");
  const json blocks = eval({});
  const json stream = eval({"--stream"});
  EXPECT_EQ(stream["tokens"], blocks["tokens"]);
  EXPECT_NE(stream["loss"], blocks["loss"]);
}

TEST_F(Eval, TokensAddUpToTheWhole) {
  for (const char* batching : {"sentences", "blocks"}) {
    train("char", batching);
    const std::string csv = path(std::string(batching) + ".csv");
    const json whole = eval({});
    const json tokens = eval({"--per-token", csv});
    EXPECT_EQ(tokens["tokens"], whole["tokens"]);
    EXPECT_EQ(tokens["accuracy"], whole["accuracy"]);
    // The same sums in another order, and f32's softmax beside double's.
    EXPECT_NEAR(tokens["loss"].get<double>(), whole["loss"].get<double>(), 1e-5);
    std::istringstream lines(slurp(csv));
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "position,id,token,loss");
    double sum = 0.0;
    long count = 0;
    for (; std::getline(lines, line); ++count) sum += std::stod(line.substr(line.rfind(',') + 1));
    EXPECT_EQ(count, whole["tokens"]);
    EXPECT_NEAR(sum / static_cast<double>(count), whole["loss"].get<double>(), 1e-5);
    EXPECT_EQ(run_dsf({"eval", path("run"), "--per-token", csv}).exit_code, 2);
    std::filesystem::remove_all(path("run"));
  }
}

}  // namespace
}  // namespace dsf
