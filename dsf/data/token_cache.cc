#include "dsf/data/token_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/log.h"
#include "dsf/data/bpe_tokenizer.h"
#include "dsf/data/split_file.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

std::string key_of(std::string_view what, std::string_view text) {
  Hasher hasher;
  hasher.update(what.data(), what.size());
  hasher.update(text.data(), text.size());
  return to_hex(hasher.digest());
}

// An entry that cannot be kept (a full or read-only disk) costs time the next time, nothing else.
void keep(const fs::path& file, const std::function<void(const fs::path&)>& write) {
  const fs::path unfinished = fmt::format("{}.{}", file.string(), ::getpid());
  try {
    fs::create_directories(file.parent_path());
    write(unfinished);
    rename_file(unfinished, file);
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    log_warning(fmt::format("the tokens are not kept for the next time: {}", error.what()));
  }
}

std::optional<Split> read_split(const fs::path& file, dim_t vocab) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  return parse_split(read_file(file), vocab);
}

std::unique_ptr<Tokenizer> read_tokenizer(const fs::path& file) {
  try {
    return load_tokenizer(file);
  } catch (const DataError&) {
    return nullptr;
  }
}

}  // namespace

TokenCache TokenCache::of_user() {
  if (const char* given = std::getenv("DSF_CACHE_DIR")) return TokenCache(given);
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return TokenCache(fs::path(cache) / "dsf");
  if (const char* home = std::getenv("HOME")) return TokenCache(fs::path(home) / ".cache" / "dsf");
  return TokenCache("");
}

std::unique_ptr<Tokenizer> TokenCache::tokenizer(const TokenizerConfig& config,
                                                 std::string_view text) const {
  if (directory_.empty() || config.kind != "bpe" || text.size() < kWorthKeeping) {
    return build_tokenizer(config, text);
  }
  const std::string what = fmt::format("{} {} {}\n", config.kind, config.vocab, config.min_count);
  const fs::path file = directory_ / (key_of(what, text) + ".tokenizer");
  if (auto found = read_tokenizer(file)) return found;
  auto built = build_tokenizer(config, text);
  keep(file, [&](const fs::path& path) { built->save(path); });
  return built;
}

Split TokenCache::split(const Tokenizer& tokenizer, std::string_view text) const {
  const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer);
  if (directory_.empty() || bpe == nullptr || text.size() < kWorthKeeping) {
    return make_split(tokenizer, text);
  }
  const fs::path file = directory_ / (key_of(bpe->model(), text) + ".tokens");
  if (auto found = read_split(file, tokenizer.vocab_size())) return std::move(*found);
  Split made = make_split(tokenizer, text);
  keep(file, [&](const fs::path& path) { write_split_file(made, path); });
  return made;
}

}  // namespace dsf
