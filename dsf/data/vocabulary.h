#pragma once

// The tokens a tokenizer knows, numbered: token id i is the text tokens()[i].

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dsf/base/token_batch.h"
#include "dsf/data/tokenizer.h"

namespace dsf {

/// Owns the texts of a tokenizer's tokens and finds them by text and by id. The word
/// tokenizer has one; it does not change once it is built.
class Vocabulary {
 public:
  /// Throws DataError if a token stands twice.
  explicit Vocabulary(std::vector<std::string> tokens);

  dim_t size() const { return static_cast<dim_t>(tokens_.size()); }
  const std::vector<std::string>& tokens() const { return tokens_; }
  /// The id of `text`, `otherwise` if it is not a token.
  token_t find(std::string_view text, token_t otherwise) const;
  /// The text of token `id`. Throws DataError if there is no such id.
  const std::string& text(token_t id) const;

 private:
  // Looks up a string_view without making a string of it.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, token_t, Hash, std::equal_to<>> ids_;
};

/// Throws DataError if `id` is not in [0, size).
void require_token(token_t id, dim_t size);

/// A word or character, and how often the training text has it.
struct CountedToken {
  std::string text;
  dim_t count = 0;
};

/// Which tokens to keep, in the order of their ids: `specials` first, then the candidates by
/// falling count (ties by byte order), without those seen less than config.min_count times, and no
/// more than config.vocab in all. A candidate that is a special already is not counted twice.
/// `noun`: "words", "characters". Throws ConfigError for limits that make no sense, DataError if
/// the text has fewer tokens than config.vocab asks for.
std::vector<std::string> choose_tokens(std::span<const std::string> specials,
                                       std::vector<CountedToken> candidates,
                                       const TokenizerConfig& config, std::string_view noun);

}  // namespace dsf
