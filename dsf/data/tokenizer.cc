#include "dsf/data/tokenizer.h"

#include <fmt/format.h>

#include <utility>

#include "dsf/base/error.h"
#include "dsf/data/bpe_tokenizer.h"
#include "dsf/data/byte_tokenizer.h"
#include "dsf/data/char_tokenizer.h"
#include "dsf/data/text_file.h"
#include "dsf/data/tokenizer_file.h"
#include "dsf/data/word_tokenizer.h"

namespace dsf {

void Tokenizer::save(const std::filesystem::path& file) const {
  write_tokenizer_file(stored(), file);
}

std::unique_ptr<Tokenizer> build_tokenizer(const TokenizerConfig& config, std::string_view text) {
  if (config.kind == TokenizerKind::byte) {
    check_byte_config(config);
    return std::make_unique<ByteTokenizer>();
  }
  require_utf8(text, "training text");
  switch (config.kind) {
    case TokenizerKind::bpe:
      return std::make_unique<BpeTokenizer>(bpe_model(config, text));
    case TokenizerKind::word:
      return std::make_unique<WordTokenizer>(word_tokens(config, text));
    default:
      return std::make_unique<CharTokenizer>(char_tokens(config, text));
  }
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& file) {
  return parse_tokenizer(read_corpus_file(file), file.string());
}

std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view text, const std::string& origin) {
  StoredTokenizer stored = parse_tokenizer_file(text, origin);
  try {
    switch (stored.kind) {
      case TokenizerKind::word:
        return std::make_unique<WordTokenizer>(std::move(stored.tokens));
      case TokenizerKind::character:
        return std::make_unique<CharTokenizer>(std::move(stored.tokens));
      case TokenizerKind::bpe:
        return std::make_unique<BpeTokenizer>(std::move(stored.model));
      default:
        return std::make_unique<ByteTokenizer>();
    }
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: damaged tokenizer: {}", origin, error.what()));
  }
}

}  // namespace dsf
