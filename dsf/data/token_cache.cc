#include "dsf/data/token_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>

#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/log.h"
#include "dsf/data/bpe_tokenizer.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "dsf-tokens-1";

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

// --- a split on disk: magic, Header, tokens, line starts, checksum of all before it --------------

struct Header {
  dim_t tokens = 0;
  dim_t line_starts = 0;
  dim_t characters = 0;
  dim_t bytes = 0;
};

void write_split(const Split& split, const fs::path& file) {
  FileWriter out(file);
  const Header header = {static_cast<dim_t>(split.tokens.size()),
                         static_cast<dim_t>(split.line_starts.size()), split.characters,
                         split.bytes};
  out.write(kMagic);
  out.write(&header, sizeof header);
  out.write(split.tokens.data(), split.tokens.size() * sizeof(token_t));
  out.write(split.line_starts.data(), split.line_starts.size() * sizeof(dim_t));
  const std::uint64_t hash = out.hash();
  out.write(&hash, sizeof hash);
  out.finish();
}

template <typename T>
void take(std::string_view& bytes, std::span<T> out) {
  std::memcpy(out.data(), bytes.data(), out.size_bytes());
  bytes.remove_prefix(out.size_bytes());
}

std::optional<Split> read_split(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  const std::string contents = read_file(file);
  std::uint64_t hash = 0;
  if (contents.size() < kMagic.size() + sizeof(Header) + sizeof hash) return std::nullopt;
  const std::size_t hashed = contents.size() - sizeof hash;
  std::memcpy(&hash, contents.data() + hashed, sizeof hash);
  std::string_view rest = std::string_view(contents).substr(0, hashed);
  if (!rest.starts_with(kMagic) || hash_bytes(rest) != hash) return std::nullopt;
  rest.remove_prefix(kMagic.size());
  Header header;
  take(rest, std::span(&header, 1));
  Split split;
  split.tokens.resize(static_cast<std::size_t>(header.tokens));
  split.line_starts.resize(static_cast<std::size_t>(header.line_starts));
  take(rest, std::span(split.tokens));
  take(rest, std::span(split.line_starts));
  split.characters = header.characters;
  split.bytes = header.bytes;
  return split;
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
  if (auto found = read_split(file)) return std::move(*found);
  Split made = make_split(tokenizer, text);
  keep(file, [&](const fs::path& path) { write_split(made, path); });
  return made;
}

}  // namespace dsf
