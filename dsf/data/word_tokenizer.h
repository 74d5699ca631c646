#pragma once

#include "dsf/data/tokenizer.h"
#include "dsf/data/vocabulary.h"

namespace dsf {

/// Words between ASCII white space.
class WordTokenizer final : public Tokenizer {
 public:
  /// `tokens`: <unk>, <bos>, <eos>, then words. Throws DataError if they are not.
  explicit WordTokenizer(std::vector<std::string> tokens);

  TokenizerKind kind() const override { return TokenizerKind::word; }
  dim_t vocab_size() const override { return vocabulary_.size(); }
  token_t bos() const override { return 1; }
  token_t eos() const override { return 2; }
  token_t unk() const override { return 0; }
  void encode(std::string_view text, std::vector<token_t>& out) const override;
  std::string decode(const std::vector<token_t>& ids) const override;
  StoredTokenizer stored() const override;

 private:
  Vocabulary vocabulary_;
};

/// The vocabulary that `config` takes from `text`.
std::vector<std::string> word_tokens(const TokenizerConfig& config, std::string_view text);

}  // namespace dsf
