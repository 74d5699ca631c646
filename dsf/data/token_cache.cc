#include "dsf/data/token_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/log.h"
#include "dsf/base/mapped_file.h"
#include "dsf/data/split_file.h"
#include "dsf/data/tokenizer_file.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

std::optional<Split> read_split(const fs::path& file, dim_t vocab) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  try {
    const auto mapped = std::make_shared<const MappedFile>(file);
    return parse_split(mapped->contents(), vocab, mapped);
  } catch (const IoError&) {  // somebody else's, or removed just now
    return std::nullopt;
  }
}

std::unique_ptr<Tokenizer> read_tokenizer(const fs::path& file) {
  try {
    return load_tokenizer(file);
  } catch (const DataError&) {
    return nullptr;
  }
}

// What processes that were killed had begun: NAME.PID, a day old.
void remove_left_behind(const fs::path& directory) {
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    const std::string ending = entry.path().extension().string();
    const bool numbered =
        ending.size() > 1 &&
        std::all_of(ending.begin() + 1, ending.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!numbered || !entry.is_regular_file(ignored)) continue;
    if (entry.last_write_time(ignored) < long_ago) fs::remove(entry.path(), ignored);
  }
}

}  // namespace

TokenCache::TokenCache(fs::path directory, const DataConfig& corpus)
    : directory_(std::move(directory)), corpus_(corpus) {
  if (!directory_.empty()) identity_ = identify_corpus(corpus);
}

fs::path TokenCache::directory_of_user() {
  if (const char* given = std::getenv("DSF_CACHE_DIR")) return given;
  // The XDG specification: what is empty or relative counts as not set.
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && fs::path(cache).is_absolute()) return fs::path(cache) / "dsf";
  if (const char* home = std::getenv("HOME")) return fs::path(home) / ".cache" / "dsf";
  return "";
}

std::uint64_t TokenCache::worth_keeping(TokenizerKind tokenizer_kind) {
  constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20U;
  return tokenizer_kind == TokenizerKind::bpe ? kMegabyte : 64 * kMegabyte;
}

bool TokenCache::keeps(TokenizerKind tokenizer_kind) const {
  return identity_ && identity_->bytes >= worth_keeping(tokenizer_kind);
}

fs::path TokenCache::entry(std::string_view what, std::string_view ending) const {
  Hasher hasher;
  hasher.update(&identity_->hash, sizeof identity_->hash);
  hasher.update(what.data(), what.size());
  return directory_ / (to_hex(hasher.digest()) + std::string(ending));
}

// An entry that cannot be kept (a full or read-only disk) costs time the next time, nothing else.
// Nor is one kept of a text that changed since it was identified.
void TokenCache::keep(const fs::path& file,
                      const std::function<void(const fs::path&)>& write) const {
  if (identify_corpus(corpus_) != identity_) return;
  const fs::path unfinished = fmt::format("{}.{}", file.string(), ::getpid());
  try {
    fs::create_directories(directory_);
    remove_left_behind(directory_);
    write(unfinished);
    rename_file(unfinished, file);
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    log_warning(fmt::format("the tokens are not kept for the next time: {}", error.what()));
  }
}

std::unique_ptr<Tokenizer> TokenCache::tokenizer(
    const TokenizerConfig& config, const std::function<std::unique_ptr<Tokenizer>()>& build) const {
  if (config.kind != TokenizerKind::bpe || !keeps(config.kind)) return build();
  const fs::path file =
      entry(fmt::format("{} {} {}\n", name_of(config.kind), config.vocab, config.min_count),
            ".tokenizer");
  if (auto found = read_tokenizer(file)) return found;
  auto built = build();
  keep(file, [&](const fs::path& path) { built->save(path); });
  return built;
}

Split TokenCache::split(const Tokenizer& tokenizer, std::string_view name,
                        const std::function<Split()>& make) const {
  if (!keeps(tokenizer.kind())) return make();
  const fs::path file = entry(tokenizer_text(tokenizer.stored()), fmt::format(".{}.tokens", name));
  if (auto found = read_split(file, tokenizer.vocab_size())) return std::move(*found);
  Split made = make();
  keep(file, [&](const fs::path& path) { write_split_file(made, path); });
  return made;
}

}  // namespace dsf
