#pragma once

// Tokens to text one at a time, as they are made: what comes out is always whole UTF-8.

#include <string>

#include "dsf/data/tokenizer.h"

namespace dsf {

/// Turns one sequence of tokens into text. Whoever generates owns one, calls push() for each token and
/// finish() after the last. It owns the bytes that are not a whole code point yet.
class TextStream {
 public:
  /// `tokenizer` must outlive the stream.
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// The text that `token` adds. Empty while a code point is unfinished (bytes); bytes that cannot
  /// become one are U+FFFD.
  std::string push(token_t token);

  /// What is left of a code point that nobody finished: U+FFFD, or nothing. The stream begins anew.
  std::string finish();

 private:
  void decode_pending(std::string& out);

  const Tokenizer& tokenizer_;
  std::vector<token_t> pair_;  // the token before, if there is one, and the one at hand
  std::string pending_;        // bytes not handed out yet
};

}  // namespace dsf
