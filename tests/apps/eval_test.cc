// dsf eval on other text, as one stream, and token by token.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/program_fixture.h"
#include "tests/support/small_text.h"

namespace dsf {
namespace {

using nlohmann::json;

class Eval : public ProgramTest {
 protected:
  Eval() : ProgramTest(80) { directory_.write("valid.txt", small_text(15, 9)); }

  void make_run(const std::string& tokenizer, const std::string& batching) const {
    run_ok(
        train("run", joined({"--valid", path("valid.txt"), "--steps", "4"},
                            sets({"data.tokenizer=" + tokenizer, "data.batching=" + batching}))));
  }

  json eval(const Words& more) const {
    return json::parse(run_ok(joined({"eval", path("run"), "--json"}, more)));
  }
};

TEST_F(Eval, ATextFileIsEvaluatedAsASplitIs) {
  make_run("word", "sentences");
  EXPECT_EQ(eval({"--text", path("valid.txt")})["loss"], eval({})["loss"]);
  EXPECT_EQ(run_dsf({"eval", path("run"), "--text", path("none")}).exit_code, 2);
  EXPECT_EQ(
      run_dsf({"eval", path("run"), "--text", path("valid.txt"), "--split", "test"}).exit_code, 2);
}

TEST_F(Eval, AStreamCarriesTheStateOn) {
  make_run("char", "blocks");
  const json blocks = eval({});
  const json stream = eval({"--stream"});
  EXPECT_EQ(stream["tokens"], blocks["tokens"]);
  EXPECT_NE(stream["loss"], blocks["loss"]);
}

TEST_F(Eval, TokensAddUpToTheWhole) {
  for (const char* batching : {"sentences", "blocks"}) {
    make_run("char", batching);
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
