#pragma once

#include <string>

#include "dsf/base/rng.h"

namespace dsf {

/// Lines of 1 to 9 made-up words; the next word depends on the one before, so there is something to
/// learn. Lengths differ, so that batches of sentences are ragged.
inline std::string small_text(dim_t lines, std::uint64_t seed = 7) {
  constexpr dim_t kWords = 17;
  Rng rng(seed, "small_text");
  std::string text;
  for (dim_t line = 0; line < lines; ++line) {
    dim_t word = rng.below(kWords);
    const dim_t length = 1 + rng.below(9);
    for (dim_t i = 0; i < length; ++i) {
      if (i > 0) text += ' ';
      text += 'w';
      text += std::to_string(word);
      word = (3 * word + rng.below(3)) % kWords;
    }
    text += '\n';
  }
  return text;
}

}  // namespace dsf
