#include "dsf/data/split_file.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "dsf/base/file.h"

namespace dsf {
namespace {

constexpr std::string_view kMagic = "dsf-tokens-3    ";
static_assert(kMagic.size() % alignof(dim_t) == 0);

struct Header {
  dim_t tokens = 0;
  dim_t line_starts = 0;
  dim_t characters = 0;
  dim_t bytes = 0;
  dim_t unknown = 0;
  dim_t unknown_bytes = 0;
};

// The next `count` numbers of `bytes`, where they are.
template <typename T>
std::span<const T> take(std::string_view& bytes, dim_t count) {
  const std::span<const T> numbers(reinterpret_cast<const T*>(bytes.data()),
                                   static_cast<std::size_t>(count));
  bytes.remove_prefix(numbers.size_bytes());
  return numbers;
}

// True if `bytes` are exactly so many of both, without an overflow on the way.
bool fits(const Header& header, std::size_t bytes) {
  const auto most = static_cast<dim_t>(bytes);
  if (header.tokens < 0 || header.tokens > most || header.line_starts < 0 ||
      header.line_starts > most) {
    return false;
  }
  const auto tokens = static_cast<std::size_t>(header.tokens);
  const auto lines = static_cast<std::size_t>(header.line_starts);
  return tokens * sizeof(token_t) + lines * sizeof(dim_t) == bytes;
}

bool is_sound(const Split& split, dim_t vocab) {
  const auto known = [vocab](token_t token) { return token >= 0 && token < vocab; };
  if (split.line_starts.empty()) return split.tokens.empty();
  return std::all_of(split.tokens.begin(), split.tokens.end(), known) &&
         split.line_starts.front() == 0 &&
         split.line_starts.back() == static_cast<dim_t>(split.tokens.size()) &&
         std::is_sorted(split.line_starts.begin(), split.line_starts.end());
}

}  // namespace

void write_split_file(const Split& split, const std::filesystem::path& file) {
  FileWriter out(file);
  const Header header = {static_cast<dim_t>(split.tokens.size()),
                         static_cast<dim_t>(split.line_starts.size()),
                         split.characters,
                         split.bytes,
                         split.unknown,
                         split.unknown_bytes};
  out.write(kMagic);
  out.write(&header, sizeof header);
  out.write(split.line_starts.data(), split.line_starts.size() * sizeof(dim_t));
  out.write(split.tokens.data(), split.tokens.size() * sizeof(token_t));
  const std::uint64_t hash = out.hash();
  out.write(&hash, sizeof hash);
  out.finish();
}

std::optional<Split> parse_split(std::string_view contents, dim_t vocab,
                                 std::shared_ptr<const void> owner) {
  std::uint64_t hash = 0;
  if (contents.size() < kMagic.size() + sizeof(Header) + sizeof hash) return std::nullopt;
  const std::size_t hashed = contents.size() - sizeof hash;
  std::memcpy(&hash, contents.data() + hashed, sizeof hash);
  std::string_view rest = contents.substr(0, hashed);
  if (!rest.starts_with(kMagic) || hash_bytes(rest) != hash) return std::nullopt;
  rest.remove_prefix(kMagic.size());
  const Header header = take<Header>(rest, 1).front();
  if (!fits(header, rest.size())) return std::nullopt;
  const auto line_starts = take<dim_t>(rest, header.line_starts);
  const auto tokens = take<token_t>(rest, header.tokens);
  Split split{{tokens, owner}, {line_starts, owner}, header.characters,
              header.bytes,    header.unknown,       header.unknown_bytes};
  if (!is_sound(split, vocab)) return std::nullopt;
  return split;
}

}  // namespace dsf
