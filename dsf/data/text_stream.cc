#include "dsf/data/text_stream.h"

#include "dsf/base/utf8.h"

namespace dsf {

// Whether a space stands before a word depends on the token before it, and on no other.
std::string TextStream::push(token_t token) {
  const std::size_t before = tokenizer_.decode(pair_).size();
  pair_.push_back(token);
  pending_ += tokenizer_.decode(pair_).substr(before);
  pair_ = {token};
  std::string out;
  decode_pending(out);
  return out;
}

std::string TextStream::finish() {
  pair_.clear();
  std::string out;
  for (std::size_t i = 0; i < pending_.size(); ++i) out += kReplacementCharacter;
  pending_.clear();
  return out;
}

void TextStream::decode_pending(std::string& out) {
  std::size_t at = 0;
  while (at < pending_.size()) {
    const std::string_view rest = std::string_view(pending_).substr(at);
    const CodePoint point = decode_utf8(rest, 0);
    if (point.value != kMalformed) {
      out += rest.substr(0, point.length);
    } else if (is_unfinished_utf8(rest)) {
      break;
    } else {
      out += kReplacementCharacter;
    }
    at += point.length;
  }
  pending_.erase(0, at);
}

}  // namespace dsf
