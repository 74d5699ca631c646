#pragma once

// Text out of a trained model, token by token, in constant memory.
//
// A recurrent model takes one step a token and carries its state. Attention carries none: the last
// tokens, as many as it was trained on, are read again for each new one.
//
// The text begins as the training sequences did: sentences with <bos>, running text (blocks,
// stream) behind a line end.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "dsf/data/data_config.h"
#include "dsf/data/tokenizer.h"
#include "dsf/model/language_model.h"
#include "dsf/use/sampling.h"

namespace dsf {

/// The token that stands before the text of a sequence, as in training.
token_t first_token(const Tokenizer& tokenizer, const DataConfig& data);

/// The tokens of text of any bytes, as training text is read: each line end is eos().
std::vector<token_t> encode_lines(const Tokenizer& tokenizer, std::string_view text);

/// The random numbers of text `number` (from 0 on) of those that one call writes with `seed`.
Rng generation_rng(std::uint64_t seed, dim_t number);

/// One text that grows: read() what is given, next() what the model says.
class GenerationSession {
 public:
  /// What a model trained on sentences does behind the end of one.
  enum class AtSentenceEnd {
    forget,   ///< starts the next from a zero state, as in training
    remember  ///< carries its state on
  };

  /// Model and tokenizer must outlive the session. `data` is the run's.
  GenerationSession(LanguageModel& model, const Tokenizer& tokenizer, const DataConfig& data,
                    AtSentenceEnd at_end = AtSentenceEnd::forget);

  /// Forgets all text.
  void restart();

  /// Reads text as encode_lines does. Returns the tokens.
  std::vector<token_t> read(std::string_view text);
  /// Reads one more token, any of the vocabulary.
  void read(token_t token) { read_tokens({&token, 1}); }

  /// Draws the next token and reads it. Never <bos>, which is not text.
  token_t next(Sampler& sampler, Rng& rng);

  /// Of the token to come, [V]; <bos> has -inf.
  std::span<const float> logits() const { return logits_; }

 private:
  void read_tokens(std::span<const token_t> tokens);
  void begin_sequence();
  void advance(std::span<const token_t> tokens);
  void keep_last_row();

  LanguageModel& model_;
  const Tokenizer& tokenizer_;
  bool sentences_;
  token_t first_;  // of a sequence
  AtSentenceEnd at_end_;
  dim_t window_;                 // attention: tokens it can look back on; 0: states are carried
  std::vector<token_t> recent_;  // attention: the last of them
  ModelState state_;
  TokenBatch batch_;
  Matrix rows_;  // [steps of the batch, V]
  std::vector<float> logits_;
};

}  // namespace dsf
