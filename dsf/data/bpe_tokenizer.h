#pragma once

#include <array>

#include "dsf/data/bpe_text.h"
#include "dsf/data/tokenizer.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace dsf {

/// Sub-word pieces learnt from the text: SentencePiece's byte-pair encoding, with the 256 bytes
/// among the pieces, so that nothing is unknown and decode(encode(x)) == x for any bytes.
///
/// SentencePiece writes a space as U+2581 and cannot tell the two apart, and it takes only
/// well-formed text. What it would not give back (that character, malformed bytes, NUL, and the
/// newline, which is eos()) goes around it: byte by byte, as the pieces of these bytes.
class BpeTokenizer final : public Tokenizer {
 public:
  static constexpr dim_t kDefaultVocab = 16'000;

  /// `model`: a serialized SentencePiece model as bpe_model makes it. Throws DataError if it is
  /// not.
  explicit BpeTokenizer(std::string model);
  ~BpeTokenizer() override;

  TokenizerKind kind() const override { return TokenizerKind::bpe; }
  dim_t vocab_size() const override { return static_cast<dim_t>(text_of_.size()); }
  token_t bos() const override { return bos_; }
  token_t eos() const override { return byte_ids_['\n']; }
  token_t unk() const override { return -1; }
  void encode(std::string_view text, std::vector<token_t>& out) const override;
  std::string decode(const std::vector<token_t>& ids) const override;
  StoredTokenizer stored() const override;

 private:
  void encode_plain(std::string_view text, std::vector<token_t>& out) const;

  std::string model_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  std::vector<std::string> text_of_;  // by id
  std::array<token_t, 256> byte_ids_{};
  token_t bos_ = 0;
  Spaces spaces_ = Spaces::plain;
};

/// Learns a model from `text`, which is well-formed UTF-8; the same text always gives the same
/// model. config.vocab = 0: kDefaultVocab pieces, or what the text has if it is short. Throws
/// ConfigError for limits that make no sense, DataError if the text has fewer pieces than asked
/// for, or more characters than the vocabulary has room for; InterruptedError if a signal asks to
/// stop meanwhile. SentencePiece, which ends its process if it finds a fault, runs in one of its
/// own (dsf/base/run_apart.h).
std::string bpe_model(const TokenizerConfig& config, std::string_view text);

/// The same in this process, and a model of fewer pieces than asked for is accepted.
std::string learn_bpe(const TokenizerConfig& config, std::string_view text);

}  // namespace dsf
