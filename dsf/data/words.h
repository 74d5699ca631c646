#pragma once

// Words: what stands between ASCII white space.

#include <cstddef>
#include <string_view>

namespace dsf {

/// True for what separates words: space, \t, \n, \v, \f, \r. Not locale-dependent.
constexpr bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Calls visit(word) for each word of `text`, in order.
template <typename Visit>
void for_each_word(std::string_view text, Visit&& visit) {
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && is_ascii_space(text[at])) ++at;
    const std::size_t begin = at;
    while (at < text.size() && !is_ascii_space(text[at])) ++at;
    if (at > begin) visit(text.substr(begin, at - begin));
  }
}

}  // namespace dsf
