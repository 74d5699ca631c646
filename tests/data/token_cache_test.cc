#include "dsf/data/token_cache.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <fstream>
#include <optional>

#include "dsf/data/bpe_tokenizer.h"
#include "tests/support/small_text.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

const BpeTokenizer& tokenizer() {
  static const BpeTokenizer learnt(bpe_model({TokenizerKind::bpe, 0, 1}, small_text(500)));
  return learnt;
}

void expect_equal(const Split& actual, const Split& expected) {
  EXPECT_EQ(actual.tokens, expected.tokens);
  EXPECT_EQ(actual.line_starts, expected.line_starts);
  EXPECT_EQ(actual.characters, expected.characters);
  EXPECT_EQ(actual.bytes, expected.bytes);
}

// A corpus just large enough to be kept, and a directory to keep it in.
class TokenCacheOfACorpus : public ::testing::Test {
 protected:
  TokenCacheOfACorpus() {
    const std::string lines = small_text(500) + "\n";
    while (text_.size() < TokenCache::worth_keeping(TokenizerKind::bpe)) text_ += lines;
    config_.corpus = files_.write("text.txt", text_).string();
  }

  TokenCache cache() const { return {kept_.path(), config_}; }

  Split split(const Tokenizer& with, const std::string& name = "train") {
    return cache().split(with, name, [&] {
      ++made_;
      return make_split(with, text_);
    });
  }

  std::vector<fs::path> entries() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(kept_.path())) found.push_back(entry.path());
    return found;
  }

  TempDirectory files_;
  TempDirectory kept_;
  DataConfig config_;
  std::string text_;
  int made_ = 0;  // how often the text had to be tokenized
};

TEST_F(TokenCacheOfACorpus, SecondSplitIsReadBackAsTheFirst) {
  const Split expected = make_split(tokenizer(), text_);
  expect_equal(split(tokenizer()), expected);
  ASSERT_EQ(entries().size(), 1U);
  expect_equal(split(tokenizer()), expected);
  EXPECT_EQ(made_, 1);
}

TEST_F(TokenCacheOfACorpus, SplitOutlivesItsFileAndItsCache) {
  const Split expected = split(tokenizer());
  const Split mapped = split(tokenizer());
  ASSERT_EQ(made_, 1);
  fs::remove(entries().at(0));
  expect_equal(mapped, expected);
}

TEST_F(TokenCacheOfACorpus, SplitWithoutTextIsKeptToo) {
  const auto none = [&] {
    ++made_;
    return Split();
  };
  for (int i = 0; i < 2; ++i) expect_equal(cache().split(tokenizer(), "test", none), Split());
  EXPECT_EQ(made_, 1);
}

TEST_F(TokenCacheOfACorpus, OtherTextTokenizerCutOrSplitIsAnotherEntry) {
  split(tokenizer());
  split(tokenizer(), "valid");
  const BpeTokenizer other(bpe_model({TokenizerKind::bpe, 270, 1}, small_text(500)));
  expect_equal(split(other), make_split(other, text_));
  config_.valid_fraction = 0.25;
  split(tokenizer());
  text_ += "more\n";
  files_.write("text.txt", text_);
  expect_equal(split(tokenizer()), make_split(tokenizer(), text_));
  EXPECT_EQ(entries().size(), 5U);
  EXPECT_EQ(made_, 5);
}

// The same files, cut in one case and taken as they are in the other.
TEST_F(TokenCacheOfACorpus, DirectoryAndItsFilesAreTwoCorpora) {
  const TempDirectory directory;
  const std::string train = directory.write("train.txt", text_);
  const std::string valid = directory.write("valid.txt", small_text(20));
  config_.corpus = directory.path();
  split(tokenizer());
  config_.corpus = train;
  config_.valid = valid;
  split(tokenizer());
  EXPECT_EQ(made_, 2);
}

TEST_F(TokenCacheOfACorpus, EntryThatCannotBeMappedIsMadeAgain) {
  split(tokenizer());
  const fs::path entry = entries().front();
  fs::resize_file(entry, 0);
  split(tokenizer());
  EXPECT_EQ(made_, 2);
}

TEST_F(TokenCacheOfACorpus, DamagedEntryIsMadeAgain) {
  const Split expected = split(tokenizer());
  const fs::path file = entries().at(0);
  const auto size = fs::file_size(file);
  std::string contents(size, '\0');
  std::ifstream(file, std::ios::binary).read(contents.data(), static_cast<std::streamsize>(size));
  std::string flipped = contents;
  flipped[size / 2] = static_cast<char>(flipped[size / 2] ^ 4);
  for (const std::string& damaged :
       {flipped, std::string(), contents.substr(0, 20), contents.substr(0, size - 1)}) {
    kept_.write(file.filename().string(), damaged);
    expect_equal(split(tokenizer()), expected);
    EXPECT_EQ(fs::file_size(file), size);
  }
  EXPECT_EQ(made_, 5);
}

TEST_F(TokenCacheOfACorpus, TextThatChangesUnderwayIsNotKept) {
  const TokenCache before = cache();
  files_.write("text.txt", text_ + "more\n");
  before.split(tokenizer(), "train", [&] { return make_split(tokenizer(), text_); });
  EXPECT_TRUE(entries().empty());
}

TEST_F(TokenCacheOfACorpus, TokenizerIsLearntOnce) {
  const TokenizerConfig config = {TokenizerKind::bpe, 270, 1};
  const auto build = [&] {
    ++made_;
    return build_tokenizer(config, text_);
  };
  const auto first = cache().tokenizer(config, build);
  const auto second = cache().tokenizer(config, build);
  EXPECT_EQ(made_, 1);
  std::vector<token_t> a;
  std::vector<token_t> b;
  first->encode(small_text(5), a);
  second->encode(small_text(5), b);
  EXPECT_EQ(a, b);
  EXPECT_EQ(second->vocab_size(), 270);
}

TEST_F(TokenCacheOfACorpus, SmallTextsWordsAndMadeUpLanguagesLeaveNothingBehind) {
  split(*build_tokenizer({TokenizerKind::word, 0, 1}, text_));
  files_.write("text.txt", small_text(10));
  split(tokenizer());
  config_.corpus = "synthetic:recall";
  split(tokenizer());
  EXPECT_TRUE(entries().empty());
}

TEST_F(TokenCacheOfACorpus, ADirectoryThatCannotBeMadeIsNoError) {
  const TokenCache nowhere(files_.write("file", "not a directory") / "cache", config_);
  const Split made =
      nowhere.split(tokenizer(), "train", [&] { return make_split(tokenizer(), text_); });
  expect_equal(made, make_split(tokenizer(), text_));
}

TEST_F(TokenCacheOfACorpus, WhatKilledProcessesLeftIsRemovedAfterADay) {
  const auto two_days_ago = fs::file_time_type::clock::now() - std::chrono::hours(48);
  const auto write = [&](const char* name, bool old) {
    const fs::path file = kept_.write(name, "half a fi");
    if (old) fs::last_write_time(file, two_days_ago);
    return file;
  };
  const fs::path abandoned = write("0123456789abcdef.train.tokens.12345", true);
  const fs::path under_way = write("0123456789abcdef.train.tokens.12346", false);
  const fs::path entry = write("0123456789abcdef.valid.tokens", true);
  const fs::path not_ours = write("notes.txt", true);
  split(tokenizer());
  EXPECT_FALSE(fs::exists(abandoned));
  for (const fs::path& file : {under_way, entry, not_ours}) EXPECT_TRUE(fs::exists(file)) << file;
  EXPECT_EQ(entries().size(), 4U) << "and the new one";
}

/// Sets (or, by null, removes) an environment variable for the rest of a scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = ::getenv(name)) before_ = before;
    set(value);
  }
  ~ScopedVariable() { set(before_ ? before_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void set(const char* value) {
    if (value == nullptr) {
      ::unsetenv(name_);
    } else {
      ::setenv(name_, value, 1);
    }
  }

  const char* name_;
  std::optional<std::string> before_;
};

TEST(TokenCacheDirectory, IsGivenByTheEnvironment) {
  const ScopedVariable home("HOME", "/home/somebody");
  const ScopedVariable xdg("XDG_CACHE_HOME", "/fast/disk");
  {
    const ScopedVariable own("DSF_CACHE_DIR", "/own/place");
    EXPECT_EQ(TokenCache::directory_of_user(), "/own/place");
  }
  const ScopedVariable none("DSF_CACHE_DIR", nullptr);
  EXPECT_EQ(TokenCache::directory_of_user(), "/fast/disk/dsf");
}

// As the XDG specification has it.
TEST(TokenCacheDirectory, EmptyOrRelativeCacheHomeCountsAsNone) {
  const ScopedVariable none("DSF_CACHE_DIR", nullptr);
  const ScopedVariable home("HOME", "/home/somebody");
  for (const char* value : {"", "relative/dir"}) {
    const ScopedVariable xdg("XDG_CACHE_HOME", value);
    EXPECT_EQ(TokenCache::directory_of_user(), "/home/somebody/.cache/dsf") << value;
  }
}

}  // namespace
}  // namespace dsf
