#include "dsf/data/text_stream.h"

#include <gtest/gtest.h>

#include "dsf/base/utf8.h"

namespace dsf {
namespace {

std::vector<std::string> pieces_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<token_t> tokens;
  tokenizer.encode(text, tokens);
  TextStream stream(tokenizer);
  std::vector<std::string> pieces;
  for (const token_t token : tokens) pieces.push_back(stream.push(token));
  pieces.push_back(stream.finish());
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

TEST(TextStream, PutsSpacesBetweenWordsAndNoneBehindALineEnd) {
  const auto tokenizer = build_tokenizer({.kind = TokenizerKind::word}, "the cat sat");
  TextStream stream(*tokenizer);
  std::vector<token_t> ids;
  tokenizer->encode("the cat", ids);
  EXPECT_EQ(stream.push(tokenizer->bos()), "");
  EXPECT_EQ(stream.push(ids[0]), "the");
  EXPECT_EQ(stream.push(ids[1]), " cat");
  EXPECT_EQ(stream.push(tokenizer->eos()), "\n");
  EXPECT_EQ(stream.push(ids[0]), "the");
  EXPECT_EQ(stream.push(tokenizer->unk()), " <unk>");
}

TEST(TextStream, HandsOutBytesAsWholeCodePoints) {
  const auto tokenizer = build_tokenizer({.kind = TokenizerKind::byte}, "x");
  const std::string text = "a\u00e4\u20ac\U0001F600z";
  const auto pieces = pieces_of(*tokenizer, text);
  EXPECT_EQ(joined(pieces), text);
  for (const std::string& piece : pieces) {
    EXPECT_EQ(find_malformed_utf8(piece), std::string_view::npos);
  }
}

TEST(TextStream, BytesThatAreNoTextBecomeReplacementCharacters) {
  const auto tokenizer = build_tokenizer({.kind = TokenizerKind::byte}, "x");
  const std::string mark = "\uFFFD";
  EXPECT_EQ(joined(pieces_of(*tokenizer, "\xFFz")), mark + "z");
  EXPECT_EQ(joined(pieces_of(*tokenizer, "\xC3z")), mark + "z");      // a lead byte alone
  EXPECT_EQ(joined(pieces_of(*tokenizer, "\xE2\x82")), mark + mark);  // the end is missing
  EXPECT_EQ(joined(pieces_of(*tokenizer, "\xED\xA0\x80")), mark + mark + mark);  // a surrogate
}

TEST(TextStream, CharactersComeBackAsTheyWere) {
  const auto tokenizer = build_tokenizer({.kind = TokenizerKind::character}, "gr\u00fc\u00dfe\n");
  EXPECT_EQ(joined(pieces_of(*tokenizer, "gr\u00fc\u00dfe\n\u20ac")), "gr\u00fc\u00dfe\n\uFFFD");
}

}  // namespace
}  // namespace dsf
