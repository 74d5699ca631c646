#pragma once

// The file a tokenizer is kept in:
//   {"format": "dsf-tokenizer", "version": 1, "kind": ..., "tokens": [...], "model": "base64"}

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "dsf/data/data_config.h"

namespace dsf {

/// Everything a tokenizer is made of.
struct StoredTokenizer {
  TokenizerKind kind = TokenizerKind::word;
  std::vector<std::string> tokens;  ///< in the order of their ids; byte and bpe have none
  std::string model;                ///< bpe: what SentencePiece serializes; any bytes
};

/// What the file holds.
std::string tokenizer_text(const StoredTokenizer& tokenizer);

/// At any moment `file` is whole: the old one or the new. Throws IoError.
void write_tokenizer_file(const StoredTokenizer& tokenizer, const std::filesystem::path& file);

/// Throws DataError, which names `origin`, if `text` is not as above. What the tokens are is for
/// the kind to check.
StoredTokenizer parse_tokenizer_file(std::string_view text, const std::string& origin);

}  // namespace dsf
