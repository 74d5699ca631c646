#include "dsf/data/char_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/utf8.h"
#include "dsf/data/tokenizer_file.h"
#include "dsf/data/vocabulary.h"

namespace dsf {
namespace {

const std::array<std::string, 3> kSpecials = {"<unk>", "<bos>", "\n"};
constexpr std::size_t kNamed = 2;  // of the specials, those that are not characters

// Calls visit(code point) for each character of `text`, kMalformed included.
template <typename Visit>
void for_each_code_point(std::string_view text, Visit&& visit) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    visit(point.value);
    at += point.length;
  }
}

char32_t single_code_point(const std::string& token, std::size_t id) {
  if (!token.empty()) {
    const CodePoint point = decode_utf8(token, 0);
    if (point.value != kMalformed && point.length == token.size()) return point.value;
  }
  throw DataError(fmt::format("token {} '{}' is not one character", id, token));
}

}  // namespace

CharTokenizer::CharTokenizer(std::vector<std::string> tokens)
    : tokens_(std::move(tokens)), id_of_(kUnknown) {
  if (tokens_.size() < kSpecials.size() ||
      !std::equal(kSpecials.begin(), kSpecials.end(), tokens_.begin())) {
    throw DataError("the first tokens must be <unk>, <bos> and the newline");
  }
  for (std::size_t id = kNamed; id < tokens_.size(); ++id) {
    token_t& place = id_of_.at(single_code_point(tokens_[id], id));
    if (place != kUnknown) {
      throw DataError(fmt::format("tokens {} and {} are both '{}'", place, id, tokens_[id]));
    }
    place = static_cast<token_t>(id);
  }
}

void CharTokenizer::encode(std::string_view text, std::vector<token_t>& out) const {
  for_each_code_point(text, [&](char32_t point) { out.push_back(id_of_.get(point)); });
}

std::string CharTokenizer::decode(const std::vector<token_t>& ids) const {
  std::string text;
  for (const token_t id : ids) {
    require_token(id, vocab_size());
    if (id == unk()) {
      text.append(kReplacementCharacter);
    } else if (id != bos()) {
      text.append(tokens_[static_cast<std::size_t>(id)]);
    }
  }
  return text;
}

StoredTokenizer CharTokenizer::stored() const { return {kind(), tokens_, ""}; }

std::vector<std::string> char_tokens(const TokenizerConfig& config, std::string_view text) {
  CodePointTable<dim_t> counts(0);
  for_each_code_point(text, [&](char32_t point) { ++counts.at(point); });
  std::vector<CountedToken> candidates;
  counts.for_each([&](char32_t point, dim_t count) {
    if (count == 0) return;
    CountedToken& token = candidates.emplace_back();
    append_utf8(point, token.text);
    token.count = count;
  });
  return choose_tokens(kSpecials, std::move(candidates), config, "characters");
}

}  // namespace dsf
