#include "dsf/data/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <string>
#include <utility>

#include "dsf/base/error.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

DataConfig with_corpus(std::string corpus) {
  DataConfig config;
  config.corpus = std::move(corpus);
  return config;
}

CorpusText read(const std::string& corpus) { return read_corpus(with_corpus(corpus), 0); }

std::string numbered_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "line " + std::to_string(1000 + i) + '\n';
  return text;
}

dim_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

// --- directories ---------------------------------------------------------------------------------

struct Names {
  const char* train;
  const char* valid;
  const char* test;
};

class KnownDirectory : public ::testing::TestWithParam<Names> {};

TEST_P(KnownDirectory, GivesItsThreeFiles) {
  const TempDirectory dir;
  dir.write(GetParam().train, "train text\n");
  dir.write(GetParam().valid, "valid text\n");
  dir.write(GetParam().test, "test text\n");
  const CorpusText text = read(dir.path().string());
  EXPECT_EQ(text.train, "train text\n");
  EXPECT_EQ(text.valid, "valid text\n");
  EXPECT_EQ(text.test, "test text\n");
}

INSTANTIATE_TEST_SUITE_P(
    Names, KnownDirectory,
    ::testing::Values(Names{"ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"},
                      Names{"wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"},
                      Names{"wiki.train.raw", "wiki.valid.raw", "wiki.test.raw"},
                      Names{"train.txt", "valid.txt", "test.txt"}));

TEST(CorpusDirectory, TestMayBeMissing) {
  const TempDirectory dir;
  dir.write("train.txt", "a\n");
  dir.write("valid.txt", "b\n");
  EXPECT_EQ(read(dir.path().string()).test, "");
}

TEST(CorpusDirectory, GzipFilesAreReadThrough) {
  const TempDirectory dir;
  gzFile out = gzopen((dir / "train.txt.gz").c_str(), "wb");
  ASSERT_GT(gzputs(out, "packed text\n"), 0);
  ASSERT_EQ(gzclose(out), Z_OK);
  dir.write("valid.txt", "b\n");
  EXPECT_EQ(read(dir.path().string()).train, "packed text\n");
}

TEST(CorpusDirectory, MissingValidIsNamed) {
  const TempDirectory dir;
  dir.write("ptb.train.txt", "a\n");
  EXPECT_THAT(message_of<DataError>([&] { read(dir.path().string()); }),
              AllOf(HasSubstr("ptb.train.txt"), HasSubstr("no ptb.valid.txt")));
}

TEST(CorpusDirectory, UnknownDirectoryListsWhatWasLookedFor) {
  const TempDirectory dir;
  dir.write("notes.md", "text\n");
  EXPECT_THAT(
      message_of<DataError>([&] { read(dir.path().string()); }),
      AllOf(HasSubstr("ptb.{train,valid,test}.txt"), HasSubstr("wiki.{train,valid,test}.tokens"),
            HasSubstr("wiki.{train,valid,test}.raw"), HasSubstr(" {train,valid,test}.txt")));
}

TEST(CorpusDirectory, SeparateValidFileContradictsADirectory) {
  const TempDirectory dir;
  dir.write("train.txt", "a\n");
  dir.write("valid.txt", "b\n");
  DataConfig config = with_corpus(dir.path().string());
  config.valid = dir / "valid.txt";
  EXPECT_THROW(read_corpus(config, 0), ConfigError);
}

TEST(CorpusDirectory, EmptySplitIsRefusedByName) {
  const TempDirectory dir;
  dir.write("train.txt", "a\n");
  dir.write("valid.txt", "");
  EXPECT_THAT(message_of<DataError>([&] { read(dir.path().string()); }),
              HasSubstr("valid.txt: the file is empty"));
}

// --- files ---------------------------------------------------------------------------------------

TEST(CorpusFile, FractionsAreCutFromTheEndAtLineEnds) {
  const TempDirectory dir;
  const std::string whole = numbered_lines(100);
  DataConfig config = with_corpus(dir.write("x.txt", whole));
  config.valid_fraction = 0.2;
  config.test_fraction = 0.1;
  const CorpusText text = read_corpus(config, 0);
  EXPECT_EQ(text.train + text.valid + text.test, whole);
  EXPECT_EQ(lines_of(text.train), 70);
  EXPECT_EQ(lines_of(text.valid), 20);
  EXPECT_EQ(lines_of(text.test), 10);
}

TEST(CorpusFile, NoTestFractionNoTest) {
  const TempDirectory dir;
  DataConfig config = with_corpus(dir.write("x.txt", numbered_lines(100)));
  config.test_fraction = 0.0;
  const CorpusText text = read_corpus(config, 0);
  EXPECT_EQ(text.test, "");
  EXPECT_EQ(lines_of(text.train), 95);
}

TEST(CorpusFile, EachSplitGetsALineHoweverShortTheText) {
  const TempDirectory dir;
  const CorpusText text = read(dir.write("x.txt", "one\ntwo\nthree"));
  EXPECT_EQ(text.train, "one\n");
  EXPECT_EQ(text.valid, "two\n");
  EXPECT_EQ(text.test, "three\n");
}

TEST(CorpusFile, TooFewLinesLeaveNothingForValid) {
  const TempDirectory dir;
  for (const char* text : {"one\ntwo\n", "one", "\n"}) {
    const std::string file = dir.write("x.txt", text);
    EXPECT_THAT(message_of<DataError>([&] { read(file); }), HasSubstr("too few lines"));
  }
}

TEST(CorpusFile, ValidAndTestFilesLeaveTheCorpusWhole) {
  const TempDirectory dir;
  DataConfig config = with_corpus(dir.write("x.txt", "one\n"));
  config.valid = dir.write("v.txt", "two\n");
  config.test = dir.write("t.txt", "three\n");
  const CorpusText text = read_corpus(config, 0);
  EXPECT_EQ(text.train, "one\n");
  EXPECT_EQ(text.valid, "two\n");
  EXPECT_EQ(text.test, "three\n");
}

TEST(CorpusFile, ListIsReadInOrderAndLinesStayApart) {
  const TempDirectory dir;
  const std::string list =
      dir.write("b.txt", "first\nend").string() + "," + dir.write("a.txt", "second\n").string();
  DataConfig config = with_corpus(list);
  config.valid = dir / "a.txt";
  config.test_fraction = 0.0;
  EXPECT_EQ(read_corpus(config, 0).train, "first\nend\nsecond\n");
}

TEST(CorpusFile, NameWithACommaIsOneFile) {
  const TempDirectory dir;
  EXPECT_EQ(lines_of(read(dir.write("a,b.txt", numbered_lines(100))).train), 90);
}

TEST(CorpusFile, EmptyNameInAListIsRefused) {
  const TempDirectory dir;
  const std::string file = dir.write("a.txt", "text\n");
  EXPECT_THROW(read(file + ","), ConfigError);
  EXPECT_THROW(read("," + file), ConfigError);
}

TEST(CorpusFile, MissingFileIsNamed) {
  const TempDirectory dir;
  EXPECT_THAT(message_of<DataError>([&] { read(dir / "nowhere"); }), HasSubstr("nowhere"));
  EXPECT_THAT(message_of<ConfigError>([] { read(""); }), HasSubstr("data.corpus is not set"));
}

TEST(CorpusFile, FractionsOutOfRangeAreRefused) {
  const TempDirectory dir;
  DataConfig config = with_corpus(dir.write("x.txt", numbered_lines(100)));
  for (const auto& [valid, test] : {std::pair(-0.1, 0.1), std::pair(1.0, 0.0), std::pair(0.0, 0.1),
                                    std::pair(0.5, 0.5), std::pair(0.1, 2.0)}) {
    config.valid_fraction = valid;
    config.test_fraction = test;
    EXPECT_THROW(read_corpus(config, 0), ConfigError) << valid << " " << test;
  }
}

TEST(CorpusFile, OnlyTheByteTokenizerTakesBinaryFiles) {
  const TempDirectory dir;
  DataConfig config = with_corpus(dir.write("x.bin", std::string("\xFF\n\0\n\xEF\xBB\n", 7)));
  EXPECT_THROW(read_corpus(config, 0), DataError);
  config.tokenizer = TokenizerKind::character;
  EXPECT_THROW(read_corpus(config, 0), DataError);
  config.tokenizer = TokenizerKind::byte;
  EXPECT_EQ(read_corpus(config, 0).valid, std::string("\0\n", 2));
}

// --- made-up languages ---------------------------------------------------------------------------

TEST(CorpusSynthetic, OptionsReachTheGenerator) {
  EXPECT_EQ(lines_of(read("synthetic:recall:lines=17,eval_lines=3").train), 17);
  EXPECT_EQ(lines_of(read("synthetic:recall:lines=17,eval_lines=3").test), 3);
  EXPECT_GT(lines_of(read("synthetic:recall").train), 0);
}

TEST(CorpusSynthetic, TakesNoFilesToValidateOrTestOn) {
  DataConfig config;
  config.corpus = "synthetic:recall";
  config.valid = "valid.txt";
  EXPECT_THROW(read_corpus(config, 1), ConfigError);
}

TEST(CorpusSynthetic, UnknownLanguageIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(message_of<ConfigError>([] { read("synthetic:chess"); }),
              HasSubstr("synthetic:recall"));
}

}  // namespace
}  // namespace dsf
