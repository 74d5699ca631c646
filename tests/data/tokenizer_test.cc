#include "dsf/data/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "dsf/base/error.h"
#include "dsf/base/rng.h"
#include "dsf/data/tokenizer_file.h"
#include "tests/support/deep_json.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Tokenizer> build(const std::string& kind, std::string_view text, dim_t vocab = 0,
                                 dim_t min_count = 1) {
  return build_tokenizer({parse_choice<TokenizerKind>("kind", kind), vocab, min_count}, text);
}

std::vector<token_t> encode(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<token_t> ids;
  tokenizer.encode(text, ids);
  return ids;
}

std::string random_bytes(dim_t size) {
  Rng rng(5);
  std::string bytes;
  for (dim_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(rng.below(256)));
  return bytes;
}

// --- words ---------------------------------------------------------------------------------------

TEST(WordTokenizer, NumbersWordsByFrequencyThenByteOrder) {
  const auto t = build("word", "b a c c\nb c d\n");
  EXPECT_EQ(t->vocab_size(), 7);
  // <unk> 0, <bos> 1, <eos> 2, c 3, b 4, then a and d, seen once each.
  EXPECT_THAT(encode(*t, "c b a d"), ElementsAre(3, 4, 5, 6));
}

TEST(WordTokenizer, SplitsAtAnyAsciiWhiteSpace) {
  const auto t = build("word", "a b");
  EXPECT_EQ(encode(*t, " a\tb\r\n\v\fa  "), encode(*t, "a b a"));
}

TEST(WordTokenizer, OtherSpacesBelongToTheWord) {
  const auto t = build("word",
                       "a\xC2\xA0"
                       "b");  // a no-break space between
  EXPECT_EQ(t->vocab_size(), 4);
}

TEST(WordTokenizer, UnkOfTheTextIsTheUnkToken) {
  const auto t = build("word", "the <unk> sat <unk>\n");
  EXPECT_EQ(t->vocab_size(), 5);
  EXPECT_THAT(encode(*t, "<unk> never-seen"), ElementsAre(t->unk(), t->unk()));
}

TEST(WordTokenizer, EncodeAppendsAndAddsNoSpecials) {
  const auto t = build("word", "a b\n");
  std::vector<token_t> ids = {42};
  t->encode("a\nb\n", ids);
  EXPECT_THAT(ids, ElementsAre(42, 3, 4));
}

TEST(WordTokenizer, DecodeJoinsWordsAndEndsLines) {
  const auto t = build("word", "a b c\n");
  EXPECT_EQ(t->decode({t->bos(), 3, 4, t->eos(), t->bos(), 5, 0, t->eos()}), "a b\nc <unk>\n");
  EXPECT_EQ(t->decode({}), "");
}

TEST(WordTokenizer, VocabKeepsTheMostFrequent) {
  const auto t = build("word", "a a a b b c", 5);
  EXPECT_EQ(t->vocab_size(), 5);
  EXPECT_THAT(encode(*t, "a b c"), ElementsAre(3, 4, t->unk()));
}

TEST(WordTokenizer, VocabOfExactlyWhatThereIsIsAccepted) {
  EXPECT_EQ(build("word", "a b c", 6)->vocab_size(), 6);
}

TEST(WordTokenizer, VocabLargerThanTheTextSaysHowManyThereAre) {
  EXPECT_THAT(message_of<DataError>([] { build("word", "a b c <unk>", 50000); }),
              AllOf(HasSubstr("data.vocab = 50000"), HasSubstr("only 3 distinct words"),
                    HasSubstr("use 0 to take all")));
}

TEST(WordTokenizer, MinCountDropsRareWords) {
  const auto t = build("word", "a a b b c", 0, 2);
  EXPECT_EQ(t->vocab_size(), 5);
  EXPECT_THAT(encode(*t, "c"), ElementsAre(t->unk()));
  EXPECT_THAT(message_of<DataError>([] { build("word", "a a b", 5, 2); }),
              HasSubstr("only 1 distinct words seen 2 times or more"));
  EXPECT_THROW(build("word", "a b", 0, 3), DataError);
}

TEST(WordTokenizer, LimitsThatMakeNoSenseAreRefused) {
  EXPECT_THROW(build("word", "a b", 3), ConfigError);
  EXPECT_THROW(build("word", "a b", -1), ConfigError);
  EXPECT_THROW(build("word", "a b", 0, 0), ConfigError);
}

TEST(WordTokenizer, TextWithoutWordsIsRefused) {
  EXPECT_THROW(build("word", " \n\n "), DataError);
  EXPECT_THROW(build("word", ""), DataError);
}

TEST(WordTokenizer, MalformedWordIsUnknown) {
  const auto t = build("word", "a b");
  EXPECT_THAT(encode(*t, "a \xFF\xFE"), ElementsAre(3, t->unk()));
}

// --- characters ----------------------------------------------------------------------------------

TEST(CharTokenizer, RoundTripIsLossless) {
  const std::string text = "naïve\r\n\n日本語\t🎈 <unk>\nno end";
  const auto t = build("char", text);
  EXPECT_EQ(t->decode(encode(*t, text)), text);
}

TEST(CharTokenizer, TokensAreCodePoints) {
  const auto t = build("char", "日本本");
  EXPECT_EQ(t->vocab_size(), 5);  // <unk>, <bos>, newline, two characters
  EXPECT_THAT(encode(*t, "本日"), ElementsAre(3, 4));
}

TEST(CharTokenizer, NewlineIsTheEndOfLineToken) {
  const auto t = build("char", "ab");
  EXPECT_THAT(encode(*t, "\n"), ElementsAre(t->eos()));
  EXPECT_EQ(t->decode({t->eos()}), "\n");
}

TEST(CharTokenizer, UnknownAndMalformedBecomeUnk) {
  const auto t = build("char", "ab");
  EXPECT_THAT(encode(*t,
                     "aé\xFF"
                     "🎈"),
              ElementsAre(3, t->unk(), t->unk(), t->unk()));
  EXPECT_EQ(t->decode({3, t->unk()}), "a\xEF\xBF\xBD");
}

TEST(CharTokenizer, VocabAndMinCountCut) {
  EXPECT_EQ(build("char", "aaabbc\n", 5)->vocab_size(), 5);
  EXPECT_EQ(build("char", "aaabbc\n", 0, 2)->vocab_size(), 5);
  EXPECT_THAT(message_of<DataError>([] { build("char", "aaabbc\n", 99); }),
              HasSubstr("only 3 distinct characters"));
}

// --- bytes ---------------------------------------------------------------------------------------

TEST(ByteTokenizer, RoundTripOfAnyBytes) {
  const std::string bytes = random_bytes(5000);
  const auto t = build("byte", bytes);
  EXPECT_EQ(t->decode(encode(*t, bytes)), bytes);
}

TEST(ByteTokenizer, VocabularyIsTheBytesAndBos) {
  const auto t = build("byte", "");
  EXPECT_EQ(t->vocab_size(), 257);
  EXPECT_EQ(t->bos(), 256);
  EXPECT_EQ(t->eos(), '\n');
  EXPECT_EQ(t->unk(), -1);
  EXPECT_THAT(encode(*t, std::string_view("\0\xFF", 2)), ElementsAre(0, 255));
}

TEST(ByteTokenizer, HasNoVocabularyToLimit) {
  EXPECT_THROW(build("byte", "text", 100), ConfigError);
  EXPECT_THROW(build("byte", "text", 0, 2), ConfigError);
}

// --- all -----------------------------------------------------------------------------------------

TEST(TokenizerFile, OfAnUnknownKindIsRefusedWithTheKnownOnes) {
  const std::string file = R"({"format":"dsf-tokenizer","version":1,"kind":"unigram","tokens":[]})";
  EXPECT_THAT(
      message_of<DataError>([&] { parse_tokenizer(file, "t.json"); }),
      AllOf(HasSubstr("t.json"), HasSubstr("\"unigram\""), HasSubstr("word, char, byte, bpe")));
}

TEST(Tokenizer, BinaryTrainingTextIsRefusedByAllButByte) {
  for (const char* kind : {"word", "char", "bpe"}) {
    EXPECT_THROW(build(kind, "a \xFF"), DataError) << kind;
    EXPECT_THROW(build(kind, std::string_view("a\0b", 3)), DataError) << kind;
  }
}

class EveryTokenizer : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryTokenizer, LoadsAsItWasSaved) {
  const TempDirectory dir;
  const std::string text = "the naïve \"cat\" \\ sat\n日本語 🎈\n";
  const auto saved = build(GetParam(), text);
  saved->save(dir / "tokenizer.json");
  const auto loaded = load_tokenizer(dir / "tokenizer.json");
  EXPECT_EQ(name_of(loaded->kind()), GetParam());
  EXPECT_EQ(loaded->vocab_size(), saved->vocab_size());
  EXPECT_EQ(loaded->bos(), saved->bos());
  EXPECT_EQ(loaded->eos(), saved->eos());
  EXPECT_EQ(loaded->unk(), saved->unk());
  EXPECT_EQ(encode(*loaded, text), encode(*saved, text));
  EXPECT_EQ(loaded->decode(encode(*loaded, text)), saved->decode(encode(*saved, text)));
}

TEST_P(EveryTokenizer, DecodeRefusesIdsOutsideTheVocabulary) {
  const auto t = build(GetParam(), "some text\n");
  EXPECT_THROW(t->decode({-1}), DataError);
  EXPECT_THROW(t->decode({static_cast<token_t>(t->vocab_size())}), DataError);
}

TEST_P(EveryTokenizer, EncodesAnyBytesWithinTheVocabulary) {
  const auto t = build(GetParam(), "some text\n");
  for (const token_t id : encode(*t, random_bytes(20'000))) {
    ASSERT_GE(id, 0);
    ASSERT_LT(id, t->vocab_size());
  }
}

TEST_P(EveryTokenizer, SavingWhereNothingCanBeWrittenFails) {
  const TempDirectory dir;
  EXPECT_THROW(build(GetParam(), "some text\n")->save(dir / "no/such/dir/t.json"), IoError);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryTokenizer, ::testing::Values("word", "char", "byte", "bpe"));

// --- damaged files -------------------------------------------------------------------------------

class DamagedTokenizer : public ::testing::TestWithParam<std::string> {};

// A file that is right except for what is passed in.
std::string stored(const std::string& kind, const std::string& tokens) {
  return R"({"format":"dsf-tokenizer","version":1,"kind":)" + kind + R"(,"tokens":)" + tokens + "}";
}

TEST_P(DamagedTokenizer, IsRefusedByName) {
  const TempDirectory dir;
  const std::string file = dir.write("broken.json", GetParam());
  EXPECT_THAT(message_of<DataError>([&] { load_tokenizer(file); }), HasSubstr("broken.json"));
}

INSTANTIATE_TEST_SUITE_P(
    Files, DamagedTokenizer,
    ::testing::Values(
        "", "not json", "{", "null", "[]", "42", "{}", "\xFF\xFE",
        R"({"format":"other","version":1,"kind":"word","tokens":[]})",
        R"({"format":"dsf-tokenizer","version":2,"kind":"byte","tokens":[]})",
        R"({"format":"dsf-tokenizer","kind":"byte","tokens":[]})", stored(R"(7)", R"([])"),
        stored(R"("bpe")", R"([])"), stored(R"("unigram")", R"([])"),
        R"({"format":"dsf-tokenizer","version":1,"kind":"word"})",
        R"({"format":"dsf-tokenizer","version":1,"kind":"bpe","tokens":[],"model":7})",
        R"({"format":"dsf-tokenizer","version":1,"kind":"bpe","tokens":[],"model":"?"})",
        R"({"format":"dsf-tokenizer","version":1,"kind":"bpe","tokens":[],"model":"Zm9v"})",
        stored(R"("word")", R"("abc")"), stored(R"("word")", R"([1,2,3])"),
        stored(R"("word")", R"([])"), stored(R"("word")", R"(["a","b","c"])"),
        stored(R"("word")", R"(["<unk>","<bos>","<eos>","a","a"])"),
        stored(R"("word")", R"(["<unk>","<bos>","<eos>","a b"])"),
        stored(R"("word")", R"(["<unk>","<bos>","<eos>",""])"),
        stored(R"("char")", R"(["<unk>","<bos>"])"),
        stored(R"("char")", R"(["<unk>","<bos>","\n","ab"])"),
        stored(R"("char")", R"(["<unk>","<bos>","\n",""])"),
        stored(R"("char")", R"(["<unk>","<bos>","\n","a","a"])")));

TEST(DamagedTokenizerFile, EveryCutOfAGoodFileIsRefused) {
  const TempDirectory dir;
  build("word", "a b c\n")->save(dir / "t.json");
  std::ifstream in(dir / "t.json", std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::size_t closed = whole.find_last_of('}');
  for (std::size_t size = 0; size <= closed; ++size) {
    const std::string cut = dir.write("cut.json", whole.substr(0, size));
    EXPECT_THROW(load_tokenizer(cut), DataError) << "after " << size << " bytes";
  }
}

TEST(DamagedTokenizerFile, VersionWithoutABottomIsRefused) {
  const std::string text = R"({"format":"dsf-tokenizer","version":)" + bottomless_json() +
                           R"(,"kind":"byte","tokens":[]})";
  EXPECT_THAT(message_of<DataError>([&] { parse_tokenizer_file(text, "deep.json"); }),
              AllOf(HasSubstr("deep.json"), HasSubstr("nested")));
}

TEST(DamagedTokenizerFile, MissingFileIsNamed) {
  const TempDirectory dir;
  EXPECT_THAT(message_of<DataError>([&] { load_tokenizer(dir / "none.json"); }),
              HasSubstr("none.json"));
}

}  // namespace
}  // namespace dsf
