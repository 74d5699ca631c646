#include "dsf/data/bpe_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsf/base/error.h"
#include "dsf/base/rng.h"
#include "dsf/data/dataset.h"
#include "tests/support/message_of.h"
#include "tests/support/small_text.h"

namespace dsf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

BpeTokenizer learnt_from(std::string_view text, dim_t vocab = 0) {
  return BpeTokenizer(bpe_model({TokenizerKind::bpe, vocab, 1}, text));
}

const BpeTokenizer& english() {
  static const BpeTokenizer tokenizer = learnt_from(small_text(400));
  return tokenizer;
}

std::vector<token_t> encode(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<token_t> ids;
  tokenizer.encode(text, ids);
  return ids;
}

class RoundTrip : public ::testing::TestWithParam<std::string> {};

TEST_P(RoundTrip, IsLossless) {
  const std::string& text = GetParam();
  const std::vector<token_t> ids = encode(english(), text);
  EXPECT_EQ(english().decode(ids), text);
  for (const token_t id : ids) EXPECT_NE(id, 0) << "<unk>";
}

using namespace std::string_literals;

INSTANTIATE_TEST_SUITE_P(
    AwkwardTexts, RoundTrip,
    ::testing::Values("", " ", "  ", "     ", "\n", "\n\n", " \n ", "a", " a", "a ", "  a   b  ",
                      "\ta\tb\t", "a\r\nb\r\n", "no end", "\v\f\x01\x7F", "a\0b\0"s,
                      "<unk> <bos> <s> </s> <0x0A> <pad>", "\xE2\x96\x81", "a\xE2\x96\x81 b",
                      "\xE2\x96\x81 \xE2\x96\x81\xE2\x96\x81", "\xE2\x81\x87 \xE2\x96\x85",
                      "\xEF\xBF\xBD", "\xEF\xBB\xBFmark", "na\xC3\xAFve", "nai\xCC\x88ve",
                      "\xEF\xAC\x81\xC2\xBD\xC2\xA0\xE3\x80\x80\xE2\x80\x8B", "日本語のテキスト",
                      "🎈👩‍👩‍👧‍👦", "\xF4\x8F\xBF\xBF",
                      " = Title = \n \n The <unk> @-@ , \n",
                      // Malformed: no text at all, and given back all the same.
                      "\xFF\xFE", "a\xC3", "\xE2\x96", "\xED\xA0\x80", "\xC0\x80"));

TEST(BpeTokenizer, RandomBytesComeBack) {
  Rng rng(11);
  for (int round = 0; round < 50; ++round) {
    std::string bytes;
    for (int i = 0; i < 300; ++i) bytes += static_cast<char>(rng.below(256));
    ASSERT_EQ(english().decode(encode(english(), bytes)), bytes);
  }
}

TEST(BpeTokenizer, RandomCodePointsComeBack) {
  Rng rng(12);
  // Those SentencePiece has plans for, more often than by chance.
  const std::vector<std::string> special = {" ", "\n", "\t", "\xE2\x96\x81", "\xE2\x96\x85", "the"};
  for (int round = 0; round < 50; ++round) {
    std::string text;
    for (int i = 0; i < 200; ++i) {
      if (rng.below(2) == 0) {
        text += special[static_cast<std::size_t>(rng.below(special.size()))];
      } else {
        text += "\xE4\xB8"s + static_cast<char>(0x80 + rng.below(64));
      }
    }
    ASSERT_EQ(english().decode(encode(english(), text)), text);
  }
}

TEST(BpeTokenizer, SpacesComeBackWhereTheTrainingTextHasNone) {
  const BpeTokenizer t = learnt_from("abcabcabc\nabc\n");
  EXPECT_EQ(t.decode(encode(t, " abc  abc ")), " abc  abc ");
}

TEST(BpeTokenizer, LearnsPiecesLongerThanCharacters) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += " recurrent models remember\n";
  EXPECT_EQ(encode(learnt_from(text), " models recurrent remember").size(), 3U);
}

TEST(BpeTokenizer, NewlineIsTheEndOfLineToken) {
  EXPECT_THAT(encode(english(), "\n"), ::testing::ElementsAre(english().eos()));
  EXPECT_EQ(english().bos(), 1);
  EXPECT_EQ(english().unk(), -1);
  EXPECT_EQ(english().decode({english().bos()}), "");
  const std::string text = "the cat\n\n sat\n";
  EXPECT_EQ(make_split(english(), text).tokens, encode(english(), text));
}

TEST(BpeTokenizer, SameTextGivesTheSameModel) {
  const std::string text = small_text(200);
  EXPECT_EQ(bpe_model({TokenizerKind::bpe, 0, 1}, text),
            bpe_model({TokenizerKind::bpe, 0, 1}, text));
}

TEST(BpeTokenizer, VocabIsTheNumberOfPieces) {
  EXPECT_EQ(learnt_from(small_text(400), 270).vocab_size(), 270);
}

TEST(BpeTokenizer, ShortTextGivesWhatItHasUnlessANumberIsAskedFor) {
  EXPECT_LT(english().vocab_size(), BpeTokenizer::kDefaultVocab);
  EXPECT_THAT(message_of<DataError>([] { learnt_from("the cat sat\n", 5000); }),
              AllOf(HasSubstr("data.vocab = 5000"), HasSubstr("use 0 to take all")));
}

TEST(BpeTokenizer, LimitsThatMakeNoSenseAreRefused) {
  EXPECT_THROW(learnt_from("text", 258), ConfigError);
  EXPECT_THROW(learnt_from("text", -1), ConfigError);
  EXPECT_THROW(bpe_model({TokenizerKind::bpe, 0, 2}, "text"), ConfigError);
}

TEST(BpeTokenizer, VocabTooSmallForTheCharactersIsRefused) {
  EXPECT_THROW(learnt_from("abcdefghijklmnopqrstuvwxyz\n", 262), DataError);
}

TEST(BpeTokenizer, TextWithNothingToLearnFromIsRefused) {
  EXPECT_THROW(learnt_from(""), DataError);
  EXPECT_THROW(learnt_from("\n\n\t\n"), DataError);
}

TEST(BpeTokenizer, LinesWithTabsAreLearntFromToo) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "column\tanother\n";
  const BpeTokenizer t = learnt_from(text);
  EXPECT_EQ(encode(t, "column").size(), 1U);
  EXPECT_EQ(encode(t, "another").size(), 1U);
}

TEST(BpeTokenizer, LearnsFromTextWithItsOwnSpecialCharacters) {
  std::string text;
  for (int i = 0; i < 20; ++i) {
    text += "a\xE2\x96\x81 \xE2\x96\x85 \xE2\x81\x87 <unk> <0x0A> <bos>\t\xEF\xBF\xBD  b\r\n";
  }
  const BpeTokenizer t = learnt_from(text);
  EXPECT_EQ(t.decode(encode(t, text)), text);
}

TEST(BpeTokenizer, LongLinesAreLearntFromToo) {
  std::string text = "x\n";
  for (int i = 0; i < 2000; ++i) text += "paragraph ";
  EXPECT_EQ(encode(learnt_from(text), " paragraph").size(), 1U);
}

// SentencePiece itself would end the process over these.
TEST(BpeTokenizer, ModelWithAPieceWithoutTextIsRefused) {
  std::string model = bpe_model({TokenizerKind::bpe, 0, 1}, small_text(400));
  EXPECT_NO_THROW(BpeTokenizer{model});
  model[model.find("<unk>")] = '\0';
  EXPECT_THAT(message_of<DataError>([&] { BpeTokenizer{model}; }), HasSubstr("NUL"));
}

TEST(BpeTokenizer, ModelOfAnotherKindIsRefused) {
  const std::string piece =
      "\x0a\x05\x0a\x03"
      "abc";
  const std::string unigram = "\x12\x02\x18\x01";
  EXPECT_THAT(message_of<DataError>([&] { BpeTokenizer{piece}; }), HasSubstr("byte-pair"));
  EXPECT_THAT(message_of<DataError>([&] { BpeTokenizer{piece + unigram}; }),
              HasSubstr("byte-pair"));
}

TEST(BpeTokenizer, ModelThatIsCutOffIsRefused) {
  const std::string model = bpe_model({TokenizerKind::bpe, 0, 1}, small_text(400));
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{5}, model.size() / 2}) {
    EXPECT_THROW(BpeTokenizer{model.substr(0, size)}, DataError);
  }
}

std::string repeated(std::string_view text, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  return out;
}

/// As base64 has it: no space, few characters.
std::string letters(std::size_t count) {
  Rng rng(5);
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += static_cast<char>('A' + rng.below(52) % 58);
  return out;
}

TEST(BpeTraining, TakesLongRunsWithoutSpaces) {
  for (const std::string& text :
       {letters(40'000), letters(70'000), repeated("x", 70'000), repeated(" ", 70'000),
        repeated("日本語のテキストは空白なしで続く", 3 * 33'000),
        repeated("\xF0\x9F\x8E\x88", 4 * 70'000), letters(40'000) + " and words\n"}) {
    const BpeTokenizer tokenizer = learnt_from(text + "\n");
    EXPECT_EQ(tokenizer.decode(encode(tokenizer, text)), text) << text.substr(0, 20);
  }
}

TEST(BpeTraining, OfOneLongLineLearnsWhatShortLinesTeach) {
  std::string words;
  std::string lines;
  for (int i = 0; i < 4000; ++i) {
    const std::string word = " word" + std::to_string(i % 37) + " of" + std::to_string(i % 11);
    words += word;
    lines += word + "\n";
  }
  const BpeTokenizer from_lines = learnt_from(lines);
  const BpeTokenizer from_one = learnt_from(words + "\n");
  ASSERT_EQ(from_one.vocab_size(), from_lines.vocab_size());
  EXPECT_EQ(encode(from_one, words), encode(from_lines, words));
}

}  // namespace
}  // namespace dsf
