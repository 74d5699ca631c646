#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsf/base/error.h"
#include "dsf/run/config_file.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunConfig parse(const std::string& text) {
  const TempDirectory directory;
  return with_assignments(RunConfig(), read_config_file(directory.write("c.toml", text)));
}

RunConfig with_sets(const std::vector<std::string>& sets) {
  return with_assignments(RunConfig(), parse_assignments(sets));
}

template <typename Call>
std::string config_error_of(Call call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Config, FileSetsKeysOfEveryTypeAndLeavesTheRest) {
  const RunConfig config = parse(R"(
[model]
hidden = 512
skip = false
mixer = "lstm"
[feedback]
range = [0.25, 1]
[train]
lr = 1
)");
  EXPECT_EQ(config.model.hidden, 512);
  EXPECT_FALSE(config.model.skip);
  EXPECT_EQ(config.model.mixer, MixerKind::lstm);
  EXPECT_THAT(config.feedback.range, ElementsAre(0.25, 1.0));
  EXPECT_EQ(config.train.lr, 1.0);
  EXPECT_EQ(config.train.batch, RunConfig().train.batch);
}

TEST(Config, ResolvedFileReadsBackToTheSameText) {
  const RunConfig config = with_sets({"data.corpus=a \"b\"\\c.txt", "train.lr=0.1",
                                      "train.epsilon=1e-12", "feedback.range=[0.1, 0.3]",
                                      "model.skip=false", "train.milestones=[]", "train.clip=3"});
  const std::string text = to_toml(config);
  EXPECT_EQ(to_toml(parse(text)), text);
  EXPECT_EQ(parse(text).data.corpus, "a \"b\"\\c.txt");
  EXPECT_EQ(parse(text).train.lr, 0.1);
  EXPECT_EQ(parse(text).train.adam.epsilon, 1e-12);
}

TEST(Config, DefaultsPassTheirOwnChecks) { EXPECT_NO_THROW(parse(to_toml(RunConfig()))); }

TEST(Config, EveryKeyIsListedOnce) {
  std::vector<std::string> names;
  for (const Field& field : config_fields()) names.push_back(field.name());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(Config, LaterAssignmentsWin) {
  const TempDirectory directory;
  std::vector<Assignment> assignments =
      read_config_file(directory.write("c.toml", "[train]\nlr = 0.5\nbatch = 7\n"));
  assignments.push_back(parse_assignment("train.lr", "0.25", "--lr"));
  const RunConfig config = with_assignments(RunConfig(), assignments);
  EXPECT_EQ(config.train.lr, 0.25);
  EXPECT_EQ(config.train.batch, 7);
}

TEST(Config, EpochsGivenAfterStepsReplaceThem) {
  EXPECT_EQ(with_sets({"train.steps=50", "train.epochs=2"}).train.steps, 0);
  EXPECT_EQ(with_sets({"train.epochs=2", "train.steps=50"}).train.steps, 50);
  EXPECT_EQ(parse("[train]\nsteps = 50\nepochs = 2\n").train.steps, 50);
}

TEST(Config, UnknownKeyIsRefusedWithFileLineAndNearestName) {
  const std::string error = config_error_of([] { parse("[model]\nhidden = 4\nlayer = 3\n"); });
  EXPECT_THAT(error, HasSubstr("c.toml:3"));
  EXPECT_THAT(error, HasSubstr("\"model.layer\""));
  EXPECT_THAT(error, HasSubstr("did you mean \"layers\""));
}

TEST(Config, KeyInTheWrongSectionIsSentToTheRightOne) {
  EXPECT_THAT(config_error_of([] { parse("[model]\nlr = 0.1\n"); }),
              HasSubstr("did you mean \"train.lr\""));
}

TEST(Config, UnknownSectionIsRefusedWithTheNearestName) {
  const std::string error = config_error_of([] { parse("\n[modle]\nhidden = 4\n"); });
  EXPECT_THAT(error, HasSubstr("unknown section \"modle\""));
  EXPECT_THAT(error, HasSubstr("did you mean \"model\""));
}

TEST(Config, KeyOutsideOfSectionsIsRefused) {
  EXPECT_THAT(config_error_of([] { parse("hidden = 4\n"); }), HasSubstr("c.toml:1"));
}

TEST(Config, BrokenTomlIsRefusedWithItsLine) {
  EXPECT_THAT(config_error_of([] { parse("[model]\nhidden = = 4\n"); }), HasSubstr("c.toml:2"));
}

TEST(Config, MissingFileIsRefused) {
  EXPECT_THAT(config_error_of([] { read_config_file("/nowhere/c.toml"); }),
              HasSubstr("/nowhere/c.toml"));
}

struct Wrong {
  const char* assignment;
  const char* right;
};

void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.assignment; }

class WrongValue : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongValue, IsRefusedSayingWhatWouldBeRight) {
  const std::string error = config_error_of([] { with_sets({GetParam().assignment}); });
  EXPECT_THAT(error, HasSubstr(GetParam().right));
  const std::string assignment = GetParam().assignment;
  EXPECT_THAT(error, HasSubstr(assignment.substr(0, assignment.find('='))));
}

INSTANTIATE_TEST_SUITE_P(
    Config, WrongValue,
    ::testing::Values(
        Wrong{"model.hidden=-256", "a whole number of at least 1"},
        Wrong{"model.hidden=2.5", "a whole number"}, Wrong{"model.hidden=many", "a whole number"},
        Wrong{"model.hidden=", "a whole number"},
        Wrong{"model.hidden=99999999999999999999", "a whole number"},
        Wrong{"model.hidden=1000000000", "at most 1048576"},
        Wrong{"model.layers=1000000000", "at most 65536"},
        Wrong{"data.vocab=1000000000000", "at most"}, Wrong{"train.beta1=1", "below 1"},
        Wrong{"train.beta2=1", "below 1"}, Wrong{"train.epsilon=1e-40", "of at least 1.2e-38"},
        Wrong{"train.epochs=9000000000000000000", "at most"},
        Wrong{"train.steps=9000000000000000000", "at most"}, Wrong{"model.skip=1", "true or false"},
        Wrong{"model.mixer=gur", "one of: rnn, gru, lstm, "},
        Wrong{"model.block=round", "one of: plain, transformer"},
        Wrong{"model.reset=between", "one of: after, before"},
        Wrong{"data.tokenizer=unigram", "one of: word, char, byte, bpe"},
        Wrong{"data.batching=Stream", "one of: sentences, blocks, stream"},
        Wrong{"feedback.init=normal", "one of: uniform, linspace, constant"},
        Wrong{"feedback.scan=parallel", "one of: auto, fused, serial, blocked, fft"},
        Wrong{"data.context=0", "of at least 1"}, Wrong{"data.vocab=-1", "of at least 0"},
        Wrong{"train.batch=0", "of at least 1"}, Wrong{"train.lr=0", "above 0"},
        Wrong{"train.lr=-1e-3", "above 0"}, Wrong{"train.lr=nan", "above 0"},
        Wrong{"train.lr=inf", "above 0"}, Wrong{"train.warmup=1.5", "at most 1"},
        Wrong{"train.precision=f16", "one of: auto, f32, bf16"},
        Wrong{"train.schedule=cosin", "one of: constant, step, cosine"},
        Wrong{"train.optimizer=sgd", "one of: adam, adamw"},
        Wrong{"train.optimizer=3", "one of: adam, adamw"},
        Wrong{"train.on_nan=true", "one of: stop, skip"}, Wrong{"train.seed=-1", "of at least 0"},
        Wrong{"feedback.range=[0.5]", "[low, high]"},
        Wrong{"feedback.range=[0.9, 0.1]", "low <= high"},
        Wrong{"feedback.range=[0, 1.5]", "at most 1"},
        Wrong{"feedback.range=0.5", "a list of numbers"},
        Wrong{"feedback.method=rtrl", "one of: bptt, ft, dsf, bptt:rank[:K], gated, "},
        Wrong{"feedback.method=windows:2", "not there any more; the nearest that is: bptt:rank"},
        Wrong{"feedback.method=iterated", "iterated:K"},
        Wrong{"feedback.method=iterated:x", "iterated:K"},
        Wrong{"feedback.calibration=0", "of at least 1"},
        Wrong{"train.milestones=[20, 10]", "ascend"}, Wrong{"data.valid_fraction=0.97", "below 1"},
        Wrong{"train=3", "section.key"}, Wrong{"train.lr", "section.key=value"},
        Wrong{"train.learning=3", "unknown key"}));

TEST(ConfigResume, ContradictionOfAFixedKeyNamesBothValues) {
  const RunConfig run = with_sets({"model.hidden=64"});
  try {
    with_resumed_assignments(run, {parse_assignment("model.hidden=128")});
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("model.hidden = 128"));
    EXPECT_THAT(error.what(), HasSubstr("model.hidden = 64"));
    EXPECT_EQ(error.exit_code(), 2);
  }
}

TEST(ConfigResume, RepeatingTheRunsValuesIsFine) {
  const RunConfig run = with_sets({"model.hidden=64", "train.precision=f32"});
  EXPECT_NO_THROW(with_resumed_assignments(
      run, parse_assignments({"model.hidden=64", "train.precision=auto"})));
}

TEST(ConfigResume, LengthThreadsAndReportingMayChange) {
  const RunConfig run = with_sets({"train.steps=10", "train.threads=1"});
  const RunConfig more =
      with_resumed_assignments(run, parse_assignments({"train.steps=20", "train.threads=2",
                                                       "train.log_every=5", "train.eval_every=7"}));
  EXPECT_EQ(more.train.steps, 20);
  EXPECT_EQ(more.train.threads, 2);
  EXPECT_EQ(fixed_part_hash(more), fixed_part_hash(run));
}

TEST(ConfigResolve, CorpusNamesBecomeAbsoluteAndSyntheticOnesStay) {
  RunConfig config = with_sets({"data.corpus=a.txt,/b.txt"});
  resolve(config);
  EXPECT_EQ(config.data.corpus, (std::filesystem::current_path() / "a.txt").string() + ",/b.txt");
  config.data.corpus = "synthetic:recall:gap=4";
  resolve(config);
  EXPECT_EQ(config.data.corpus, "synthetic:recall:gap=4");
  EXPECT_NE(config.train.precision, PrecisionChoice::automatic);
}

TEST(ConfigResolve, NameWithACommaIsThatOfAFileWhereThereIsOne) {
  const TempDirectory directory;
  const std::string name = directory.write("a,b.txt", "text\n");
  RunConfig config = with_sets({});
  config.data.corpus = name;
  resolve(config);
  resolve(config);  // as a run does that goes on
  EXPECT_EQ(config.data.corpus, name);
  config.data.corpus = "a.txt,";
  EXPECT_NO_THROW(resolve(config));  // refused where the files are looked for
}

}  // namespace
}  // namespace dsf
