#include "dsf/data/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dsf/base/error.h"

namespace dsf {
namespace {

void check_limits(const TokenizerConfig& config, dim_t specials, std::string_view noun) {
  if (config.min_count < 1) {
    throw ConfigError(fmt::format("data.min_count = {}, but it must be at least 1 (keep all {})",
                                  config.min_count, noun));
  }
  if (config.vocab != 0 && config.vocab <= specials) {
    throw ConfigError(
        fmt::format("data.vocab = {} leaves no room for {} beside the {} special tokens; "
                    "use 0 to take all {}",
                    config.vocab, noun, specials, noun));
  }
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {
  ids_.reserve(tokens_.size());
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const auto [entry, is_new] = ids_.emplace(tokens_[i], static_cast<token_t>(i));
    if (!is_new) {
      throw DataError(
          fmt::format("vocabulary: tokens {} and {} are both '{}'", entry->second, i, tokens_[i]));
    }
  }
}

token_t Vocabulary::find(std::string_view text, token_t otherwise) const {
  const auto entry = ids_.find(text);
  return entry == ids_.end() ? otherwise : entry->second;
}

const std::string& Vocabulary::text(token_t id) const {
  require_token(id, size());
  return tokens_[static_cast<std::size_t>(id)];
}

void require_token(token_t id, dim_t size) {
  if (id < 0 || id >= size) {
    throw DataError(
        fmt::format("token {} is not in the vocabulary; ids are 0 to {}", id, size - 1));
  }
}

std::vector<std::string> choose_tokens(std::span<const std::string> specials,
                                       std::vector<CountedToken> candidates,
                                       const TokenizerConfig& config, std::string_view noun) {
  const auto special_count = static_cast<dim_t>(specials.size());
  check_limits(config, special_count, noun);

  std::erase_if(candidates, [&](const CountedToken& token) {
    return std::find(specials.begin(), specials.end(), token.text) != specials.end();
  });
  if (candidates.empty()) throw DataError(fmt::format("the training text has no {}", noun));
  std::erase_if(candidates, [&](const CountedToken& t) { return t.count < config.min_count; });
  if (candidates.empty()) {
    throw DataError(fmt::format("data.min_count = {}, but none of the {} occurs so often",
                                config.min_count, noun));
  }

  const auto available = static_cast<dim_t>(candidates.size());
  if (config.vocab > available + special_count) {
    const std::string often =
        config.min_count > 1 ? fmt::format(" seen {} times or more", config.min_count) : "";
    throw DataError(
        fmt::format("data.vocab = {}, but the text has only {} distinct {}{} (and {} special "
                    "tokens); use 0 to take all",
                    config.vocab, available, noun, often, special_count));
  }

  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return a.count != b.count ? a.count > b.count : a.text < b.text;
  });
  if (config.vocab != 0) {
    candidates.resize(static_cast<std::size_t>(config.vocab - special_count));
  }
  std::vector<std::string> tokens(specials.begin(), specials.end());
  tokens.reserve(tokens.size() + candidates.size());
  for (CountedToken& token : candidates) tokens.push_back(std::move(token.text));
  return tokens;
}

}  // namespace dsf
