// dsf generate, as a person or a script runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/program_fixture.h"

namespace dsf {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Generate : public ProgramTest {
 protected:
  Generate() { run_ok(train("run", {"--steps", "5"})); }

  std::string generate(const Words& more) const {
    return run_ok(joined({"generate", path("run"), "--threads", "1"}, more));
  }

  /// `dsf generate` in a shell that gives it `input`.
  std::string generate_from(const std::string& input, const std::string& options) const {
    directory_.write("input", input);
    const std::string command = "'" + dsf_program() + "' generate '" + path("run") + "' " +
                                options + " < '" + path("input") + "' > '" + path("output") + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return slurp(path("output"));
  }
};

TEST_F(Generate, TheSameSeedGivesTheSameText) {
  const Words words = {"--prompt", "w1 nobody", "--tokens", "30", "--seed", "4"};
  const std::string text = generate(words);
  EXPECT_THAT(text, StartsWith("w1 <unk>"));
  EXPECT_EQ(generate(words), text);
  EXPECT_NE(generate({"--prompt", "w1 nobody", "--tokens", "30", "--seed", "5"}), text);
}

TEST_F(Generate, CountGivesDifferentTextsOfWhichTheFirstIsTheOneAlone) {
  const auto lines = generate({"--count", "3", "--json", "--tokens", "20"});
  std::istringstream in(lines);
  std::vector<std::string> texts;
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json["tokens"], 20);
    texts.push_back(json["text"]);
  }
  ASSERT_EQ(texts.size(), 3U);
  EXPECT_NE(texts[0], texts[1]);
  EXPECT_THAT(generate({"--tokens", "20"}), StartsWith(texts[0]));
  EXPECT_THAT(generate({"--count", "2", "--tokens", "20"}), HasSubstr("--- 2 of 2 ---"));
}

TEST_F(Generate, ReadsThePromptFromStandardInput) {
  EXPECT_EQ(generate_from("w1 w2\n", "--prompt - --tokens 9"),
            generate({"--prompt", "w1 w2", "--tokens", "9"}));
  EXPECT_THAT(generate_from(std::string("\xFF\0 w3 \xC3", 7), "--prompt - --tokens 2"),
              StartsWith("<unk> w3 <unk>"));
}

TEST_F(Generate, InteractiveAnswersEachLineAndRemembersTheLinesBefore) {
  const std::string both = generate_from("w1 w2\nw3\n", "--interactive --tokens 4 --temperature 0");
  EXPECT_EQ(std::count(both.begin(), both.end(), '\n'), 2);
  EXPECT_THAT(both, StartsWith("w1 w2"));
  EXPECT_THAT(both, HasSubstr("\nw3"));
}

TEST_F(Generate, WrongUseIsRefusedBeforeAnythingIsLoaded) {
  for (const Words& words : std::vector<Words>{{"--top-p", "0"},
                                               {"--temperature", "-1"},
                                               {"--min-p", "2"},
                                               {"--count", "0"},
                                               {"--interactive", "--prompt", "-"},
                                               {"--interactive", "--json"}}) {
    EXPECT_EQ(run_dsf(joined({"generate", path("run")}, words)).exit_code, 2) << words.front();
  }
  EXPECT_EQ(run_dsf({"generate", path("none")}).exit_code, 2);
}

TEST_F(Generate, SignalEndsTheTextCleanly) {
  const int process = start_dsf({"generate", path("run"), "--tokens", "1000000000"}, path("log"));
  for (int i = 0; i < 600 && slurp(path("log.out")).empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ASSERT_EQ(kill(process, SIGINT), 0);
  EXPECT_EQ(wait_for(process), 0) << slurp(path("log.err"));
  EXPECT_TRUE(slurp(path("log.out")).ends_with('\n'));
}

}  // namespace
}  // namespace dsf
