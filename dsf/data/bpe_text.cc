#include "dsf/data/bpe_text.h"

#include "dsf/base/utf8.h"

namespace dsf {

std::size_t plain_length(std::string_view text, std::size_t at, Spaces spaces) {
  constexpr char32_t kMark = 0x2581;
  std::size_t end = at;
  while (end < text.size()) {
    const CodePoint c = decode_utf8(text, end);
    if (c.value == kMalformed || c.value == 0 || c.value == '\n' || c.value == kMark) break;
    if (c.value == ' ' && spaces == Spaces::apart) break;
    end += c.length;
  }
  return end - at;
}

}  // namespace dsf
