#pragma once

#include "dsf/data/tokenizer.h"

namespace dsf {

/// Bytes: every file can be read, nothing is unknown, and the vocabulary is always the same.
class ByteTokenizer final : public Tokenizer {
 public:
  static constexpr dim_t kVocab = 257;

  TokenizerKind kind() const override { return TokenizerKind::byte; }
  dim_t vocab_size() const override { return kVocab; }
  token_t bos() const override { return 256; }
  token_t eos() const override { return '\n'; }
  token_t unk() const override { return -1; }
  void encode(std::string_view text, std::vector<token_t>& out) const override;
  std::string decode(const std::vector<token_t>& ids) const override;
  StoredTokenizer stored() const override;
};

/// Throws ConfigError if `config` limits the vocabulary, which bytes do not allow.
void check_byte_config(const TokenizerConfig& config);

}  // namespace dsf
