// Wrong input to the real program: exit code 2, one clear message on stderr, nothing written or
// destroyed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/program_fixture.h"
#include "tests/support/small_text.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Matcher;
using ::testing::Not;
using ::testing::StartsWith;

class WrongInput : public ProgramTest {
 protected:
  WrongInput() : ProgramTest(60) {}

  /// The words of `dsf train --out path("run")` except the text.
  Words train_with(const Words& more) const {
    const Words words = {"train", "--out", path("run"), "--steps", "6"};
    return joined(joined(words, tiny_model()), more);
  }

  void expect_refused(const Words& words, const Matcher<const std::string&>& message) const {
    const auto before = snapshot(directory_.path());
    const ProgramResult result = run_dsf(words, directory_.path());
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, AllOf(StartsWith("error: "), message));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(snapshot(directory_.path()), before);
  }
};

TEST_F(WrongInput, MissingFile) {
  expect_refused(train_with({"--data", path("nothing.txt")}), HasSubstr("nothing.txt"));
}

TEST_F(WrongInput, NoDataAtAll) { expect_refused(train_with({}), HasSubstr("--data")); }

TEST_F(WrongInput, EmptyFile) {
  directory_.write("empty.txt", "");
  expect_refused(train_with({"--data", path("empty.txt")}), HasSubstr("empty.txt"));
}

TEST_F(WrongInput, BinaryFile) {
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes += static_cast<char>(i * 37 % 256);
  directory_.write("picture.png", bytes);
  expect_refused(train_with({"--data", path("picture.png")}), HasSubstr("picture.png"));
}

TEST_F(WrongInput, UnknownKeyOnTheCommandLine) {
  expect_refused(train_with({"--data", path("text.txt"), "--set", "model.hiden=8"}),
                 AllOf(HasSubstr("model.hiden"), HasSubstr("did you mean \"hidden\"")));
}

TEST_F(WrongInput, UnknownKeyInAFile) {
  directory_.write("c.toml", "[model]\nlayers = 1\nhiden = 8\n");
  expect_refused(train_with({"--data", path("text.txt"), "--config", path("c.toml")}),
                 AllOf(HasSubstr("c.toml:3"), HasSubstr("did you mean \"hidden\"")));
}

TEST_F(WrongInput, NegativeWidth) {
  expect_refused(train_with({"--data", path("text.txt"), "--set", "model.hidden=-8"}),
                 AllOf(HasSubstr("model.hidden = -8"), HasSubstr("at least 1")));
}

TEST_F(WrongInput, VocabularyLargerThanTheTextHas) {
  expect_refused(train_with({"--data", path("text.txt"), "--set", "data.vocab=5000"}),
                 HasSubstr("5000"));
}

TEST_F(WrongInput, WrongFlagValue) {
  expect_refused(train_with({"--data", path("text.txt"), "--feedback", "rtrl"}),
                 AllOf(HasSubstr("--feedback"), HasSubstr("bptt, ft, dsf")));
  expect_refused(train_with({"--data", path("text.txt"), "--eval-every", "-3"}),
                 AllOf(HasSubstr("--eval-every"), HasSubstr("at least 0")));
}

TEST_F(WrongInput, OutIsMissingOrAFile) {
  expect_refused({"train", "--data", path("text.txt")}, HasSubstr("--out"));
  expect_refused({"train", "--data", path("text.txt"), "--out", path("text.txt")},
                 HasSubstr("not a directory"));
}

TEST_F(WrongInput, OutBelowAFile) {
  expect_refused({"train", "--data", path("text.txt"), "--out", path("text.txt/run")},
                 HasSubstr("is not a directory"));
}

TEST_F(WrongInput, EmptyNameInAListOfFiles) {
  expect_refused(train_with({"--data", path("text.txt") + ","}), HasSubstr("empty file name"));
}

TEST_F(WrongInput, UnknownCommandOrFlag) {
  expect_refused({"trian"}, HasSubstr("did you mean \"train\""));
  expect_refused({"train", "--outt", "x"},
                 AllOf(HasSubstr("--outt"), HasSubstr("did you mean \"--out\"")));
  expect_refused({"eval"}, HasSubstr("dsf eval --help"));
  expect_refused(
      {"tokenizer", "encode", "x", "--txet=y"},
      AllOf(HasSubstr("did you mean \"--text\""), HasSubstr("dsf tokenizer encode --help")));
  expect_refused({}, HasSubstr("--help"));
}

TEST_F(WrongInput, ReproduceWithWhatItsGridDecides) {
  const Words grid = {"reproduce", "cells", "--data", path("text.txt"), "--out", path("grid")};
  expect_refused(joined(grid, sets({"train.seed=7"})),
                 AllOf(HasSubstr("train.seed"), HasSubstr("--seeds")));
  expect_refused(
      joined(grid, sets({"feedback.method=dsf"})),
      AllOf(HasSubstr("feedback.method"), HasSubstr("the grid"), HasSubstr("--feedback")));
}

TEST_F(WrongInput, TokenizerBelowADirectoryThatIsNotThere) {
  expect_refused(
      {"tokenizer", "train", "--data", path("nothing.txt"), "--out", path("nowhere/tokenizer")},
      AllOf(HasSubstr(path("nowhere") + " "), Not(HasSubstr("nothing.txt"))));
}

TEST_F(WrongInput, BenchmarkOfMoreUnitsThanThereAreNumbers) {
  expect_refused({"bench", "scan", "--hidden", "4611686018427387904", "--tokens", "1"},
                 HasSubstr("--hidden"));
}

TEST_F(WrongInput, ResumeWithoutARun) {
  expect_refused(train_with({"--data", path("text.txt"), "--resume"}), HasSubstr("run directory"));
}

TEST_F(WrongInput, EvalOfWhatIsNoRun) {
  expect_refused({"eval", path("nothing")}, HasSubstr("run directory"));
}

class WrongInputToARun : public WrongInput {
 protected:
  WrongInputToARun() { run_ok(train("run", {"--steps", "6"})); }
};

TEST_F(WrongInputToARun, RunDirectoryExists) {
  expect_refused(train_with({"--data", path("text.txt")}),
                 AllOf(HasSubstr("--resume"), HasSubstr("--force")));
}

TEST_F(WrongInputToARun, TheDirectoryAboveIsNamed) {
  expect_refused({"eval", directory_.path()},
                 AllOf(HasSubstr("not a run directory"), HasSubstr("runs in it: " + path("run"))));
}

TEST_F(WrongInputToARun, ForceWithWrongDataDestroysNothing) {
  expect_refused(train_with({"--data", path("nothing.txt"), "--force"}), HasSubstr("nothing.txt"));
}

TEST_F(WrongInputToARun, ForceAndResumeTogether) {
  expect_refused(train_with({"--data", path("text.txt"), "--force", "--resume"}),
                 HasSubstr("--force"));
}

TEST_F(WrongInputToARun, ResumeWithTheConfigOfAnotherModel) {
  directory_.write("other.toml", "[model]\nmixer = \"lstm\"\n");
  expect_refused({"train", "--resume", "--out", path("run"), "--config", path("other.toml")},
                 AllOf(HasSubstr("other.toml:2"), HasSubstr("model.mixer = \"lstm\""),
                       HasSubstr("model.mixer = \"gru\"")));
}

TEST_F(WrongInputToARun, ResumeOnOtherText) {
  directory_.write("other.txt", small_text(60, 99));
  expect_refused({"train", "--resume", "--out", path("run"), "--data", path("other.txt")},
                 HasSubstr("data.corpus"));
}

TEST_F(WrongInputToARun, EvalOfATextThatIsTooShortKeepsTheOldTable) {
  directory_.write("empty.txt", "");
  directory_.write("table.csv", "of yesterday");
  expect_refused({"eval", path("run"), "--text", path("empty.txt"), "--per-token",
                  path("table.csv"), "--force"},
                 HasSubstr("empty.txt"));
}

TEST_F(WrongInputToARun, ExportOverItsOwnConfiguration) {
  expect_refused({"export", path("run"), "--out", path("config.json")}, HasSubstr("config.json"));
}

TEST_F(WrongInputToARun, MoreThreadsThanAnyMachineHas) {
  expect_refused({"eval", path("run"), "--threads", "3000000000"}, HasSubstr("--threads"));
}

TEST_F(WrongInputToARun, EvalOfAnUnknownSplit) {
  expect_refused({"eval", path("run"), "--split", "dev"}, HasSubstr("dev"));
}

}  // namespace
}  // namespace dsf
