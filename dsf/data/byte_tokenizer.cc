#include "dsf/data/byte_tokenizer.h"

#include <fmt/format.h>

#include "dsf/base/error.h"
#include "dsf/data/tokenizer_file.h"
#include "dsf/data/vocabulary.h"

namespace dsf {

void ByteTokenizer::encode(std::string_view text, std::vector<token_t>& out) const {
  for (const char c : text) out.push_back(static_cast<unsigned char>(c));
}

std::string ByteTokenizer::decode(const std::vector<token_t>& ids) const {
  std::string text;
  text.reserve(ids.size());
  for (const token_t id : ids) {
    require_token(id, kVocab);
    if (id != bos()) text.push_back(static_cast<char>(id));
  }
  return text;
}

StoredTokenizer ByteTokenizer::stored() const { return {kind(), {}, ""}; }

void check_byte_config(const TokenizerConfig& config) {
  if (config.vocab != 0 && config.vocab != ByteTokenizer::kVocab) {
    throw ConfigError(
        fmt::format("data.vocab = {}, but the byte tokenizer always has {} tokens; use 0",
                    config.vocab, ByteTokenizer::kVocab));
  }
  if (config.min_count != 1) {
    throw ConfigError(fmt::format(
        "data.min_count = {}, but the byte tokenizer keeps every byte; use 1", config.min_count));
  }
}

}  // namespace dsf
