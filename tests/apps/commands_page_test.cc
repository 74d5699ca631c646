// docs/commands.md says what the program does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/program_fixture.h"

namespace dsf {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class CommandsPage : public ProgramTest {
 protected:
  /// The section about a command: from its heading to the next one.
  std::string section(const std::string& command) const {
    const std::size_t begin = text_.find("\n## dsf " + command);
    EXPECT_NE(begin, std::string::npos) << command;
    return text_.substr(begin, text_.find("\n## ", begin + 1) - begin);
  }

  /// Every name of a field in `value` stands in the section about the command that printed it.
  void expect_fields(const std::string& command, const json& value) const {
    for (const auto& [key, part] : value.items()) {
      if (value.is_object()) {
        EXPECT_THAT(section(command), HasSubstr("`" + key + "`")) << command;
      }
      if (part.is_structured()) expect_fields(command, part);
    }
  }

  std::string text_ = slurp(std::string(DSF_SOURCE_DIR) + "/docs/commands.md");
};

TEST_F(CommandsPage, NamesEveryFieldOfTheJson) {
  run_ok(train("run", {"--steps", "2"}));
  const std::string config = path("run/config.toml");
  expect_fields("runs", json::parse(run_ok({"runs", path("run"), "--json"})));
  expect_fields("eval", json::parse(run_ok({"eval", path("run"), "--json"})));
  expect_fields("info", json::parse(run_ok({"info", "--config", config, "--json"})));
  expect_fields("data", json::parse(run_ok({"data", "check", path("text.txt"), "--json"})));
  expect_fields("generate",
                json::parse(run_ok({"generate", path("run"), "--tokens", "1", "--json"})));
}

TEST_F(CommandsPage, ListsTheExperimentsAsTheProgramDoes) {
  std::istringstream lines(run_ok({"reproduce", "--list"}));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(section("reproduce"), HasSubstr("\n    " + line + "\n"));
  }
}

}  // namespace
}  // namespace dsf
