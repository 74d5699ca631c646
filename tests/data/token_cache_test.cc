#include "dsf/data/token_cache.h"

#include <gtest/gtest.h>

#include "dsf/data/bpe_tokenizer.h"
#include "tests/support/small_text.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

// Just large enough to be kept.
const std::string& text() {
  static const std::string large = [] {
    const std::string lines = small_text(500) + "\n";
    std::string all;
    while (all.size() < TokenCache::kWorthKeeping) all += lines;
    return all;
  }();
  return large;
}

const BpeTokenizer& tokenizer() {
  static const BpeTokenizer learnt(bpe_model({"bpe", 0, 1}, small_text(500)));
  return learnt;
}

void expect_equal(const Split& actual, const Split& expected) {
  EXPECT_EQ(actual.tokens, expected.tokens);
  EXPECT_EQ(actual.line_starts, expected.line_starts);
  EXPECT_EQ(actual.characters, expected.characters);
  EXPECT_EQ(actual.bytes, expected.bytes);
}

std::vector<fs::path> entries(const TempDirectory& dir) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(dir.path())) files.push_back(entry.path());
  return files;
}

TEST(TokenCache, SecondSplitIsReadBackAsTheFirst) {
  const TempDirectory dir;
  const TokenCache cache(dir.path());
  const Split expected = make_split(tokenizer(), text());
  expect_equal(cache.split(tokenizer(), text()), expected);
  ASSERT_EQ(entries(dir).size(), 1U);
  const auto written = fs::last_write_time(entries(dir)[0]);
  expect_equal(cache.split(tokenizer(), text()), expected);
  EXPECT_EQ(fs::last_write_time(entries(dir)[0]), written);
}

TEST(TokenCache, OtherTextOrTokenizerIsAnotherEntry) {
  const TempDirectory dir;
  const TokenCache cache(dir.path());
  cache.split(tokenizer(), text());
  expect_equal(cache.split(tokenizer(), text() + "more\n"),
               make_split(tokenizer(), text() + "more\n"));
  const BpeTokenizer other(bpe_model({"bpe", 270, 1}, small_text(500)));
  expect_equal(cache.split(other, text()), make_split(other, text()));
  EXPECT_EQ(entries(dir).size(), 3U);
}

TEST(TokenCache, DamagedEntryIsMadeAgain) {
  const TempDirectory dir;
  const TokenCache cache(dir.path());
  const Split expected = cache.split(tokenizer(), text());
  const fs::path file = entries(dir)[0];
  const auto size = fs::file_size(file);
  {
    std::fstream io(file, std::ios::in | std::ios::out | std::ios::binary);
    io.seekp(static_cast<std::streamoff>(size / 2));
    io.put('!');
    io.put('?');
  }
  expect_equal(cache.split(tokenizer(), text()), expected);
  for (const std::uintmax_t cut : {std::uintmax_t{0}, std::uintmax_t{20}, size - 1}) {
    fs::resize_file(file, cut);
    expect_equal(cache.split(tokenizer(), text()), expected);
    EXPECT_EQ(fs::file_size(file), size);
  }
}

TEST(TokenCache, TokenizerIsLearntOnce) {
  const TempDirectory dir;
  const TokenCache cache(dir.path());
  const TokenizerConfig config = {"bpe", 270, 1};
  const auto first = cache.tokenizer(config, text());
  ASSERT_EQ(entries(dir).size(), 1U);
  const auto second = cache.tokenizer(config, text());
  std::vector<token_t> a;
  std::vector<token_t> b;
  first->encode(small_text(5), a);
  second->encode(small_text(5), b);
  EXPECT_EQ(a, b);
  EXPECT_EQ(second->vocab_size(), 270);
  EXPECT_EQ(entries(dir).size(), 1U);
}

TEST(TokenCache, SmallTextsAndOtherTokenizersLeaveNothingBehind) {
  const TempDirectory dir;
  const TokenCache cache(dir.path());
  cache.split(tokenizer(), small_text(10));
  cache.split(*cache.tokenizer({"word", 0, 1}, text()), text());
  EXPECT_TRUE(entries(dir).empty());
}

TEST(TokenCache, ADirectoryThatCannotBeMadeIsNoError) {
  const TempDirectory dir;
  const TokenCache cache(dir.write("file", "not a directory") / "cache");
  expect_equal(cache.split(tokenizer(), text()), make_split(tokenizer(), text()));
}

}  // namespace
}  // namespace dsf
