#include "dsf/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "dsf/base/error.h"
#include "dsf/base/hash.h"
#include "dsf/base/utf8.h"
#include "dsf/data/corpus.h"
#include "dsf/data/token_cache.h"
#include "dsf/data/unknown_text.h"

namespace dsf {
namespace {

std::unique_ptr<Tokenizer> stored_tokenizer(const DataConfig& config,
                                            const std::filesystem::path& file) {
  std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(file);
  if (tokenizer->kind() != config.tokenizer) {
    throw DataError(fmt::format("{}: a {} tokenizer, but data.tokenizer = '{}'", file.string(),
                                name_of(tokenizer->kind()), name_of(config.tokenizer)));
  }
  return tokenizer;
}

// The text of a corpus, read when it is first needed: a corpus whose tokens are kept is not.
class TextOnDemand {
 public:
  TextOnDemand(const DataConfig& config, std::uint64_t seed) : config_(config), seed_(seed) {}

  const CorpusText& operator()() {
    if (!text_) text_ = read_corpus(config_, seed_);
    return *text_;
  }

 private:
  const DataConfig& config_;
  std::uint64_t seed_;
  std::optional<CorpusText> text_;
};

std::unique_ptr<Tokenizer> build_once(const TokenCache& cache, const TokenizerConfig& config,
                                      TextOnDemand& text) {
  return cache.tokenizer(config, [&] { return build_tokenizer(config, text().train); });
}

void require_words(const Split& split, const DataConfig& config, std::string_view name) {
  if (static_cast<dim_t>(split.tokens.size()) == split.lines()) {
    throw DataError(fmt::format("data.corpus = '{}': the {} split has nothing but blank lines",
                                config.corpus, name));
  }
}

}  // namespace

Split make_split(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<token_t> tokens;
  std::vector<dim_t> line_starts = {0};
  UnknownText unknown;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    const std::size_t begin = tokens.size();
    tokenizer.encode(line, tokens);
    const UnknownText hidden = find_unknown(tokenizer, line, std::span(tokens).subspan(begin));
    unknown.tokens += hidden.tokens;
    unknown.bytes += hidden.bytes;
    tokens.push_back(tokenizer.eos());
    line_starts.push_back(static_cast<dim_t>(tokens.size()));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const dim_t unclosed = !text.empty() && text.back() != '\n' ? 1 : 0;
  return {std::move(tokens),
          std::move(line_starts),
          count_code_points(text) + unclosed,
          static_cast<dim_t>(text.size()) + unclosed,
          unknown.tokens,
          unknown.bytes};
}

const Split& Dataset::split(const std::string& name) const {
  const Split* found = name == "train"   ? &train
                       : name == "valid" ? &valid
                       : name == "test"  ? &test
                                         : nullptr;
  if (found == nullptr) {
    throw UsageError(fmt::format("no split '{}'; there are train, valid and test", name));
  }
  if (found->tokens.empty()) throw UsageError(fmt::format("this corpus has no {} split", name));
  return *found;
}

Dataset load_dataset(const DataConfig& config, std::uint64_t seed,
                     const std::optional<std::filesystem::path>& tokenizer_file) {
  TextOnDemand text(config, seed);
  const TokenCache cache(TokenCache::directory_of_user(), config);
  Dataset dataset;
  dataset.tokenizer =
      tokenizer_file ? stored_tokenizer(config, *tokenizer_file)
                     : build_once(cache, {config.tokenizer, config.vocab, config.min_count}, text);
  const auto split = [&](const char* name, std::string CorpusText::*part) {
    return cache.split(*dataset.tokenizer, name, [&] {
      const std::string& lines = text().*part;
      return lines.empty() ? Split() : make_split(*dataset.tokenizer, lines);
    });
  };
  dataset.train = split("train", &CorpusText::train);
  dataset.valid = split("valid", &CorpusText::valid);
  dataset.test = split("test", &CorpusText::test);
  require_words(dataset.train, config, "train");
  require_words(dataset.valid, config, "valid");
  if (!dataset.test.tokens.empty()) require_words(dataset.test, config, "test");
  return dataset;
}

std::uint64_t data_hash(const Dataset& data) {
  Hasher hasher;
  const auto add = [&hasher](const auto& values) {
    const std::uint64_t size = values.size();
    hasher.update(&size, sizeof(size));
    hasher.update(values.data(), values.size() * sizeof(values[0]));
  };
  for (const Split* split : {&data.train, &data.valid, &data.test}) {
    add(split->tokens);
    add(split->line_starts);
  }
  return hasher.digest();
}

}  // namespace dsf
