#include "dsf/data/unknown_text.h"

#include <algorithm>

#include "dsf/base/utf8.h"
#include "dsf/data/words.h"

namespace dsf {

UnknownText find_unknown(const Tokenizer& tokenizer, std::string_view line,
                         std::span<const token_t> tokens) {
  UnknownText unknown;
  const token_t unk = tokenizer.unk();
  if (unk < 0 || std::find(tokens.begin(), tokens.end(), unk) == tokens.end()) return unknown;
  std::size_t next = 0;
  const auto look_at = [&](std::string_view text, dim_t ending) {
    if (next >= tokens.size() || tokens[next++] != unk || text == "<unk>") return;
    unknown.tokens += 1;
    unknown.bytes += static_cast<dim_t>(text.size()) + ending;
  };
  if (tokenizer.kind() == TokenizerKind::word) {
    for_each_word(line, [&](std::string_view word) { look_at(word, 1); });
    return unknown;
  }
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t length = decode_utf8(line, at).length;
    look_at(line.substr(at, length), 0);
    at += length;
  }
  return unknown;
}

}  // namespace dsf
