#pragma once

// What was worked out from a large corpus before: its sub-word tokenizer and its token ids.
// Learning and applying pieces takes minutes for a large corpus. What is kept is mapped into memory
// and takes as long as reading the text through, which is not held in memory at all.
//
// An entry is found by a checksum of everything it follows from, and carries one of itself; a
// damaged entry counts as none. The directory may be removed at any time.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dsf/data/corpus_files.h"
#include "dsf/data/dataset.h"

namespace dsf {

/// Of one corpus. Nothing is kept of a corpus without identity.
class TokenCache {
 public:
  /// Keeps its entries in `directory`, made when it is first needed. "": keeps nothing.
  TokenCache(std::filesystem::path directory, const DataConfig& corpus);

  /// DSF_CACHE_DIR ("" switches caching off), else dsf in XDG_CACHE_HOME, else ~/.cache/dsf.
  static std::filesystem::path directory_of_user();

  /// Corpora below so many bytes are not worth an entry: pieces take long, words and characters do
  /// not.
  static std::uint64_t worth_keeping(TokenizerKind tokenizer_kind);

  /// What `build` gives or gave before. Only bpe is kept: the others are as quick to build.
  std::unique_ptr<Tokenizer> tokenizer(
      const TokenizerConfig& config,
      const std::function<std::unique_ptr<Tokenizer>()>& build) const;
  /// The split of this name: what `make` gives or gave before.
  Split split(const Tokenizer& tokenizer, std::string_view name,
              const std::function<Split()>& make) const;

 private:
  bool keeps(TokenizerKind tokenizer_kind) const;
  std::filesystem::path entry(std::string_view what, std::string_view ending) const;
  void keep(const std::filesystem::path& file,
            const std::function<void(const std::filesystem::path&)>& write) const;

  std::filesystem::path directory_;
  DataConfig corpus_;
  std::optional<CorpusIdentity> identity_;
};

}  // namespace dsf
