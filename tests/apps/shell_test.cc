// Completion, manual page, version and colours.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "tests/support/program.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string output_of(const std::string& command, int expected = 0) {
  const TempDirectory directory;
  const std::string out = directory / "out";
  const int status = std::system(("(" + command + ") > '" + out + "' 2>&1").c_str());
  EXPECT_EQ(WEXITSTATUS(status), expected) << command << "\n" << slurp(out);
  return slurp(out);
}

class BashCompletion : public ::testing::Test {
 protected:
  BashCompletion() { directory_.write("completion", run_dsf({"completion", "bash"}).out); }

  /// What bash offers behind `line`.
  std::vector<std::string> offered(const std::string& line) const {
    directory_.write("ask",
                     "compopt() { :; }\nsource '" + (directory_ / "completion").string() +
                         "'\nCOMP_LINE='" + line +
                         "' COMP_POINT=${#COMP_LINE}\n_dsf\n"
                         "((${#COMPREPLY[@]})) && printf '%s\\n' \"${COMPREPLY[@]}\"\ntrue\n");
    std::istringstream words(output_of("bash '" + (directory_ / "ask").string() + "'"));
    std::vector<std::string> list;
    for (std::string word; std::getline(words, word);) list.push_back(word);
    return list;
  }

  TempDirectory directory_;
};

TEST_F(BashCompletion, KnowsCommandsOptionsAndChoices) {
  EXPECT_THAT(offered("dsf "), AllOf(Contains("train"), Contains("watch"), Contains("completion")));
  EXPECT_THAT(offered("dsf gene"), ElementsAre("generate"));
  EXPECT_THAT(offered("dsf train --feed"), ElementsAre("--feedback"));
  EXPECT_THAT(offered("dsf train --out x --feedback d"), Contains("dsf"));
  EXPECT_THAT(offered("dsf generate run --checkpoint "), ElementsAre("best", "last"));
  EXPECT_THAT(offered("dsf tokenizer "), AllOf(Contains("train"), Contains("encode")));
  EXPECT_THAT(offered("dsf tokenizer train --ki"), ElementsAre("--kind"));
  EXPECT_THAT(offered("dsf completion z"), ElementsAre("zsh"));
}

TEST_F(BashCompletion, BeginsAWordAnewBehindAColonAsBashDoes) {
  EXPECT_THAT(offered("dsf train --feedback gated:"), ElementsAre("dsf"));
  EXPECT_THAT(offered("dsf train --feedback iter"), ElementsAre("iterated:"));
}

TEST_F(BashCompletion, LeavesNamesOfFilesToBash) {
  EXPECT_THAT(offered("dsf eval "), IsEmpty());
  EXPECT_THAT(offered("dsf train --data "), IsEmpty());
  EXPECT_THAT(offered("dsf import x --tokenizer "), IsEmpty());  // its FILE|RUN is not a choice
}

/// The names that `dsf --help` lists.
std::vector<std::string> commands_of_the_help() {
  const std::string help = run_dsf({"--help"}).out;
  const std::size_t newer = help.find("SUBCOMMANDS:");  // CLI11 2.5 and later
  std::istringstream lines(
      help.substr(newer != std::string::npos ? newer : help.find("Subcommands:")));
  std::string line;
  std::getline(lines, line);
  std::vector<std::string> names;
  while (std::getline(lines, line) && !line.empty()) {
    if (line.rfind("                ", 0) == 0) continue;  // the rest of a long description
    names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  EXPECT_GT(names.size(), 10U);
  return names;
}

TEST(Completion, AnswersForEveryCommandOfTheHelp) {
  const std::string bash = run_dsf({"completion", "bash"}).out;
  const std::string zsh = run_dsf({"completion", "zsh"}).out;
  const std::string manual = run_dsf({"man"}).out;
  for (const std::string& name : commands_of_the_help()) {
    EXPECT_THAT(bash, HasSubstr("'dsf " + name + "') options=")) << name;
    EXPECT_THAT(zsh, HasSubstr("_dsf_" + name + "() {")) << name;
    EXPECT_THAT(manual, HasSubstr(".SS dsf " + name + "\n")) << name;
  }
}

TEST(Documentation, HasASectionForEveryCommandOfTheHelp) {
  std::istringstream lines(slurp(std::string(DSF_SOURCE_DIR) + "/docs/commands.md"));
  std::string headings;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("## ", 0) == 0) headings += line + ' ';
  }
  for (const std::string& name : commands_of_the_help()) {
    EXPECT_THAT(headings, ::testing::ContainsRegex("dsf " + name + "[ ,]")) << name;
  }
}

TEST(Completion, IsGoodZsh) {
  if (std::system("command -v zsh > /dev/null") != 0) GTEST_SKIP() << "zsh is not installed";
  const TempDirectory directory;
  directory.write("_dsf", run_dsf({"completion", "zsh"}).out);
  output_of("zsh -n '" + (directory / "_dsf").string() + "'");
}

TEST(Completion, OtherShellsAreRefused) { EXPECT_EQ(run_dsf({"completion", "fish"}).exit_code, 2); }

TEST(ManualPage, IsReadWithoutComplaint) {
  const std::string page = run_dsf({"man"}).out;
  EXPECT_THAT(page, StartsWith(".TH DSF 1"));
  if (std::system("command -v groff > /dev/null") != 0) GTEST_SKIP() << "groff is not installed";
  const TempDirectory directory;
  const std::string file = directory.write("dsf.1", page);
  EXPECT_THAT(output_of("groff -man -Tascii -ww -z '" + file + "'"), IsEmpty());
  EXPECT_THAT(output_of("groff -man -Tascii -P-cbou '" + file + "'"),
              AllOf(HasSubstr("--feedback"), HasSubstr("EXIT STATUS")));
}

TEST(Version, SaysCommitCompilerAndFeatures) {
  const ProgramResult result = run_dsf({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out,
              ::testing::MatchesRegex("dsf [0-9.]+ \\(commit [0-9a-z-]+\\)\n.+, .+, .*MPI\n"));
}

TEST(Version, IsToldByEveryCommand) {
  const std::string version = run_dsf({"--version"}).out;
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"train"}, {"eval"}, {"tokenizer", "train"}, {"data", "check"}}) {
    std::vector<std::string> words = command;
    words.emplace_back("--version");
    const ProgramResult result = run_dsf(words);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.out, version);
  }
}

TEST(StandardOutput, ThatCannotBeWrittenIsAFailure) {
  EXPECT_THAT(output_of("'" + dsf_program() + "' info > /dev/full", 1),
              HasSubstr("standard output"));
}

TEST(Colours, AreForTerminalsWhereNobodyMinds) {
  if (std::system("command -v script > /dev/null") != 0) GTEST_SKIP() << "script is not installed";
  const std::string wrong = "\"'" + dsf_program() + "' eval /nonexistent\"";
  const std::string red = "\033[1;31merror:\033[0m";
  const std::string on_terminal = "script -qec " + wrong + " /dev/null < /dev/null";
  EXPECT_THAT(output_of("env -u NO_COLOR TERM=xterm " + on_terminal, 2), HasSubstr(red));
  EXPECT_THAT(output_of("NO_COLOR=1 TERM=xterm " + on_terminal, 2),
              AllOf(HasSubstr("error:"), Not(HasSubstr("\033"))));
  EXPECT_THAT(output_of("TERM=dumb " + on_terminal, 2), Not(HasSubstr("\033")));
  EXPECT_THAT(run_dsf({"eval", "/nonexistent"}).err, Not(HasSubstr("\033")));
}

}  // namespace
}  // namespace dsf
