#include "dsf/data/word_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/data/tokenizer_file.h"
#include "dsf/data/words.h"

namespace dsf {
namespace {

const std::array<std::string, 3> kSpecials = {"<unk>", "<bos>", "<eos>"};

std::vector<std::string> checked(std::vector<std::string> tokens) {
  if (tokens.size() < kSpecials.size() ||
      !std::equal(kSpecials.begin(), kSpecials.end(), tokens.begin())) {
    throw DataError("the first tokens must be <unk>, <bos>, <eos>");
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& word = tokens[i];
    if (word.empty() || std::any_of(word.begin(), word.end(), is_ascii_space)) {
      throw DataError(fmt::format("token {} '{}' is not one word", i, word));
    }
  }
  return tokens;
}

}  // namespace

WordTokenizer::WordTokenizer(std::vector<std::string> tokens)
    : vocabulary_(checked(std::move(tokens))) {}

void WordTokenizer::encode(std::string_view text, std::vector<token_t>& out) const {
  for_each_word(text, [&](std::string_view word) { out.push_back(vocabulary_.find(word, unk())); });
}

std::string WordTokenizer::decode(const std::vector<token_t>& ids) const {
  std::string text;
  for (const token_t id : ids) {
    if (id == eos()) {
      text.push_back('\n');
    } else if (id != bos()) {
      if (!text.empty() && text.back() != '\n') text.push_back(' ');
      text.append(vocabulary_.text(id));
    }
  }
  return text;
}

StoredTokenizer WordTokenizer::stored() const { return {kind(), vocabulary_.tokens(), ""}; }

std::vector<std::string> word_tokens(const TokenizerConfig& config, std::string_view text) {
  std::unordered_map<std::string_view, dim_t> counts;
  for_each_word(text, [&](std::string_view word) { ++counts[word]; });
  std::vector<CountedToken> candidates;
  candidates.reserve(counts.size());
  for (const auto& [word, count] : counts) candidates.push_back({std::string(word), count});
  return choose_tokens(kSpecials, std::move(candidates), config, "words");
}

}  // namespace dsf
