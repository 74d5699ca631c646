#include "dsf/data/text_cut.h"

#include <algorithm>

#include "dsf/data/words.h"

namespace dsf {
namespace {

/// A byte that goes on with the character before it.
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// The last place from `from` down to 1 that `fits`, else the first above it; 0 if there is none.
template <typename Fits>
std::size_t nearest_place(std::size_t from, std::size_t end, Fits&& fits) {
  for (std::size_t at = from; at > 0; --at) {
    if (fits(at)) return at;
  }
  for (std::size_t at = from + 1; at < end; ++at) {
    if (fits(at)) return at;
  }
  return 0;
}

}  // namespace

std::size_t cut_inside_line(std::string_view text, std::size_t tail, CutAt unit) {
  // The line end that closes the text is not worth a split of its own.
  const std::size_t end = text.size() - (text.ends_with('\n') ? 1 : 0);
  if (end < 2) return 0;
  const std::size_t wanted = std::clamp<std::size_t>(end - std::min(tail, end), 1, end - 1);
  if (unit == CutAt::byte) return wanted;
  if (unit == CutAt::word) {
    const std::size_t at = nearest_place(wanted, end, [&](std::size_t place) {
      return is_ascii_space(text[place - 1]) && !is_ascii_space(text[place]);
    });
    if (at > 0 && std::any_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at),
                              [](char c) { return !is_ascii_space(c); })) {
      return at;
    }
  }
  return nearest_place(wanted, end, [&](std::size_t place) { return !continues(text[place]); });
}

}  // namespace dsf
