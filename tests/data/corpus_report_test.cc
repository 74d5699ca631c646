#include "dsf/data/corpus_report.h"

#include <gtest/gtest.h>

#include "tests/data/corpora.h"

namespace dsf {
namespace {

TEST(CorpusReport, CountsWordsLinesAndTypes) {
  const auto reports = describe_corpus({"a b a\n\n c\t<unk>  \n", "a d d <unk>\n", ""});
  ASSERT_EQ(reports.size(), 2U);
  const SplitReport& train = reports[0];
  EXPECT_EQ(train.name, "train");
  EXPECT_EQ(train.bytes, 18);
  EXPECT_EQ(train.lines, 3);
  EXPECT_EQ(train.blank_lines, 1);
  EXPECT_EQ(train.tokens, 5);
  EXPECT_EQ(train.types, 4);
  EXPECT_EQ(train.unknown, 1);
  EXPECT_EQ(train.unseen, 0);
  const SplitReport& valid = reports[1];
  EXPECT_EQ(valid.name, "valid");
  EXPECT_EQ(valid.tokens, 4);
  EXPECT_EQ(valid.types, 3);
  EXPECT_EQ(valid.unseen, 2);
}

TEST(CorpusReport, CharactersAreCodePoints) {
  EXPECT_EQ(describe_corpus({"日本\n", "x\n", ""})[0].characters, 3);
}

TEST(CorpusReport, DocumentsAreTitlesNotSections) {
  const std::string text =
      " = Valkyria = \n \n = = Gameplay = = \n \n = = = Combat = = = \n \n x ( W \n = Played = \n "
      "\n"
      " = B = \n\n text \n";
  EXPECT_EQ(describe_corpus({text, "x\n", ""})[0].documents, 2);
}

// The sizes their authors published: Mikolov et al. 2010; Merity et al. 2016, table 1 (train: words
// with one <eos> a line).
TEST(CorpusReport, PublishedSizesOfPennTreebankAndWikiText2) {
  const auto ptb = find_corpus("ptb");
  const auto wikitext = find_corpus("wikitext-2");
  if (!ptb || !wikitext) GTEST_SKIP() << "the corpora are not here";
  DataConfig config;
  config.corpus = *ptb;
  const auto penn = describe_corpus(read_corpus(config, 1));
  EXPECT_EQ(penn[0].lines, 42068);
  EXPECT_EQ(penn[0].tokens, 887521);
  EXPECT_EQ(penn[0].types, 9999);
  EXPECT_EQ(penn[0].tokens + penn[0].lines, 929589);
  config.corpus = *wikitext;
  const auto wiki = describe_corpus(read_corpus(config, 1));
  EXPECT_EQ(wiki[0].tokens + wiki[0].lines, 2088628);
  EXPECT_EQ(wiki[1].tokens + wiki[1].lines, 217646);
  EXPECT_EQ(wiki[2].tokens + wiki[2].lines, 245569);
  EXPECT_EQ(wiki[0].documents, 600);
  EXPECT_EQ(wiki[1].documents, 60);
  EXPECT_EQ(wiki[0].types, 33277);  // 33,278 with <eos>
}

}  // namespace
}  // namespace dsf
