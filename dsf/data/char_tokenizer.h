#pragma once

#include "dsf/data/code_point_table.h"
#include "dsf/data/tokenizer.h"

namespace dsf {

/// Unicode code points.
class CharTokenizer final : public Tokenizer {
 public:
  /// `tokens`: <unk>, <bos>, newline, then single characters. Throws DataError if they are not.
  explicit CharTokenizer(std::vector<std::string> tokens);

  TokenizerKind kind() const override { return TokenizerKind::character; }
  dim_t vocab_size() const override { return static_cast<dim_t>(tokens_.size()); }
  token_t bos() const override { return 1; }
  token_t eos() const override { return 2; }
  token_t unk() const override { return kUnknown; }
  void encode(std::string_view text, std::vector<token_t>& out) const override;
  std::string decode(const std::vector<token_t>& ids) const override;
  StoredTokenizer stored() const override;

 private:
  static constexpr token_t kUnknown = 0;

  std::vector<std::string> tokens_;
  CodePointTable<token_t> id_of_;
};

/// The vocabulary that `config` takes from `text`, which is well-formed UTF-8.
std::vector<std::string> char_tokens(const TokenizerConfig& config, std::string_view text);

}  // namespace dsf
