#pragma once

// What was worked out from a large text before: its sub-word tokenizer and its token ids. Learning
// and applying pieces takes minutes for a large corpus, reading them back seconds.
//
// An entry is found by a checksum of everything it follows from, and carries one of itself; a
// damaged entry counts as none. The directory may be removed at any time.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "dsf/data/dataset.h"

namespace dsf {

class TokenCache {
 public:
  /// Keeps its entries in `directory`, made when it is first needed. "": keeps nothing.
  explicit TokenCache(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// DSF_CACHE_DIR ("" switches caching off), else dsf in XDG_CACHE_HOME, else ~/.cache/dsf.
  static TokenCache of_user();

  /// Texts below this many bytes are not worth an entry.
  static constexpr std::size_t kWorthKeeping = std::size_t{1} << 20U;

  /// build_tokenizer, or what it gave before. Only bpe is kept: the others are as quick to build.
  std::unique_ptr<Tokenizer> tokenizer(const TokenizerConfig& config, std::string_view text) const;
  /// make_split, or what it gave before. Only where the tokenizer is bpe.
  Split split(const Tokenizer& tokenizer, std::string_view text) const;

 private:
  std::filesystem::path directory_;
};

}  // namespace dsf
