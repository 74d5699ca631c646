#include "dsf/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "dsf/base/error.h"
#include "dsf/base/timer.h"
#include "tests/data/corpora.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string decoded(const Tokenizer& tokenizer, const Split& split) {
  return tokenizer.decode({split.tokens.begin(), split.tokens.end()});
}

TEST(Split, LinesOfWordsAreClosedByEos) {
  const auto t = build_tokenizer({TokenizerKind::word, 0, 1}, "a b");
  const Split split = make_split(*t, "a b\n\n  \nb");
  EXPECT_THAT(split.tokens, ElementsAre(3, 4, t->eos(), t->eos(), t->eos(), 4, t->eos()));
  EXPECT_THAT(split.line_starts, ElementsAre(0, 3, 4, 5, 7));
  EXPECT_EQ(split.lines(), 4);
  EXPECT_EQ(split.line_length(0), 3);
  EXPECT_EQ(split.line_length(1), 1);
}

class PlainSplit : public ::testing::TestWithParam<TokenizerKind> {};

TEST_P(PlainSplit, IsTheTextItself) {
  const std::string text = "naïve\r\n\nend\n";
  const auto t = build_tokenizer({GetParam(), 0, 1}, text);
  const Split split = make_split(*t, text);
  EXPECT_EQ(decoded(*t, split), text);
  EXPECT_EQ(split.lines(), 3);
  for (dim_t line = 0; line < 3; ++line) {
    EXPECT_EQ(split.tokens[static_cast<std::size_t>(split.line_start(line + 1) - 1)], t->eos());
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, PlainSplit,
                         ::testing::Values(TokenizerKind::character, TokenizerKind::byte));

TEST(Split, CountsCharactersAndBytesWithLineEnds) {
  const auto t = build_tokenizer({TokenizerKind::word, 0, 1}, "naïve x");
  EXPECT_EQ(make_split(*t, "naïve x\n").characters, 8);
  EXPECT_EQ(make_split(*t, "naïve x\n").bytes, 9);
  EXPECT_EQ(make_split(*t, "naïve x").characters, 8) << "the line is closed, so its end counts";
  EXPECT_EQ(make_split(*t, "naïve x").bytes, 9);
}

TEST(Split, OfNoTextIsEmpty) {
  const auto t = build_tokenizer({TokenizerKind::word, 0, 1}, "a");
  const Split split = make_split(*t, "");
  EXPECT_EQ(split.lines(), 0);
  EXPECT_TRUE(split.tokens.empty());
  EXPECT_EQ(split.bytes, 0);
  EXPECT_EQ(Split().lines(), 0);
}

class SmallDataset : public ::testing::Test {
 protected:
  SmallDataset() {
    dir_.write("train.txt", "a b\na c\n");
    dir_.write("valid.txt", "a d\n");
    config_.corpus = dir_.path().string();
  }

  TempDirectory dir_;
  DataConfig config_;
};

TEST_F(SmallDataset, VocabularyComesFromTheTrainingTextAlone) {
  const Dataset dataset = load_dataset(config_, 0);
  EXPECT_EQ(dataset.tokenizer->vocab_size(), 6);
  EXPECT_THAT(dataset.valid.tokens,
              ElementsAre(3, dataset.tokenizer->unk(), dataset.tokenizer->eos()));
}

TEST_F(SmallDataset, SplitsAreFoundByName) {
  const Dataset dataset = load_dataset(config_, 0);
  EXPECT_EQ(&dataset.split("train"), &dataset.train);
  EXPECT_EQ(&dataset.split("valid"), &dataset.valid);
  EXPECT_THAT(message_of<UsageError>([&] { dataset.split("test"); }), HasSubstr("no test split"));
  EXPECT_THAT(message_of<UsageError>([&] { dataset.split("dev"); }),
              HasSubstr("train, valid and test"));
}

TEST_F(SmallDataset, StoredTokenizerIsUsedInstead) {
  build_tokenizer({TokenizerKind::word, 0, 1}, "d")->save(dir_ / "t.json");
  const Dataset dataset = load_dataset(config_, 0, dir_ / "t.json");
  EXPECT_EQ(dataset.tokenizer->vocab_size(), 4);
  EXPECT_THAT(dataset.valid.tokens, ElementsAre(0, 3, 2));
}

TEST_F(SmallDataset, StoredTokenizerOfAnotherKindIsRefused) {
  build_tokenizer({TokenizerKind::byte, 0, 1}, "")->save(dir_ / "t.json");
  EXPECT_THAT(message_of<DataError>([&] { load_dataset(config_, 0, dir_ / "t.json"); }),
              AllOf(HasSubstr("byte"), HasSubstr("data.tokenizer = 'word'")));
}

TEST_F(SmallDataset, BlankSplitIsRefused) {
  dir_.write("valid.txt", "\n \n");
  EXPECT_THAT(message_of<DataError>([&] { load_dataset(config_, 0); }),
              HasSubstr("the valid split has nothing but blank lines"));
}

TEST(SyntheticDataset, SeedMakesTheText) {
  DataConfig config;
  config.corpus = "synthetic:recall:lines=50,eval_lines=20";
  const Dataset first = load_dataset(config, 1);
  EXPECT_EQ(first.train.tokens, load_dataset(config, 1).train.tokens);
  EXPECT_NE(first.train.tokens, load_dataset(config, 2).train.tokens);
  EXPECT_EQ(first.train.lines(), 50);
  EXPECT_EQ(first.valid.lines(), 20);
  EXPECT_EQ(first.test.lines(), 20);
}

// --- real corpora --------------------------------------------------------------------------------

dim_t words_of(const Split& split) {
  return static_cast<dim_t>(split.tokens.size()) - split.lines();
}

TEST(PennTreebank, HasTheKnownCounts) {
  const auto corpus = find_corpus("ptb");
  if (!corpus) GTEST_SKIP() << "no Penn Treebank here";
  DataConfig config;
  config.corpus = *corpus;
  const Timer timer;
  const Dataset dataset = load_dataset(config, 0);
  // It takes a tenth of this; the bound would only catch time that grows with the square of the
  // text.
  EXPECT_LT(timer.seconds(), 5.0);
  EXPECT_EQ(dataset.train.lines(), 42'068);
  EXPECT_EQ(words_of(dataset.train), 887'521);
  EXPECT_EQ(dataset.valid.lines(), 3'370);
  EXPECT_EQ(words_of(dataset.valid), 70'390);
  EXPECT_EQ(dataset.test.lines(), 3'761);
  EXPECT_EQ(words_of(dataset.test), 78'669);
  EXPECT_EQ(dataset.train.bytes, 5'101'618);
  EXPECT_EQ(dataset.train.characters, 5'101'618);
  // The text has 9,999 types, <unk> among them; with <eos> they are the usual 10,000. And <bos>.
  EXPECT_EQ(dataset.tokenizer->vocab_size(), 10'001);
}

// The text's own preparation replaced the rare words: no other word of valid and test is unknown.
TEST(PennTreebank, KnowsEveryWordOfValidAndTest) {
  const auto corpus = find_corpus("ptb");
  if (!corpus) GTEST_SKIP() << "no Penn Treebank here";
  DataConfig config;
  config.corpus = *corpus;
  const Dataset dataset = load_dataset(config, 0);
  const auto unknown = [&](const Split& split) {
    return std::count(split.tokens.begin(), split.tokens.end(), dataset.tokenizer->unk());
  };
  EXPECT_EQ(unknown(dataset.train), 45'020);
  EXPECT_EQ(unknown(dataset.valid), 3'485);
  EXPECT_EQ(unknown(dataset.test), 4'794);
}

TEST(WikiText2, HasTheKnownCounts) {
  const auto corpus = find_corpus("wikitext-2");
  if (!corpus) GTEST_SKIP() << "no WikiText-2 here";
  DataConfig config;
  config.corpus = *corpus;
  const Dataset dataset = load_dataset(config, 0);
  EXPECT_EQ(dataset.train.lines(), 36'718);
  EXPECT_EQ(words_of(dataset.train), 2'051'910);
  EXPECT_EQ(dataset.valid.lines(), 3'760);
  EXPECT_EQ(words_of(dataset.valid), 213'886);
  EXPECT_EQ(dataset.test.lines(), 4'358);
  EXPECT_EQ(words_of(dataset.test), 241'211);
  EXPECT_EQ(dataset.tokenizer->vocab_size(), 33'277 + 2);  // <unk> is one of the types
}

TEST(WikiText2, CharactersSurviveTheRoundTrip) {
  const auto corpus = find_corpus("wikitext-2");
  if (!corpus) GTEST_SKIP() << "no WikiText-2 here";
  DataConfig config;
  config.corpus = *corpus;
  config.tokenizer = TokenizerKind::character;
  const Dataset dataset = load_dataset(config, 0);
  EXPECT_EQ(dataset.train.characters, static_cast<dim_t>(dataset.train.tokens.size()));
  EXPECT_EQ(static_cast<dim_t>(decoded(*dataset.tokenizer, dataset.train).size()),
            dataset.train.bytes);
}

}  // namespace
}  // namespace dsf
