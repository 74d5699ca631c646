#include "dsf/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsf/base/error.h"
#include "dsf/base/utf8.h"
#include "dsf/data/corpus.h"
#include "dsf/data/token_cache.h"

namespace dsf {
namespace {

std::unique_ptr<Tokenizer> stored_tokenizer(const DataConfig& config,
                                            const std::filesystem::path& file) {
  std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(file);
  if (tokenizer->kind() != config.tokenizer) {
    throw DataError(fmt::format("{}: a {} tokenizer, but data.tokenizer = '{}'", file.string(),
                                tokenizer->kind(), config.tokenizer));
  }
  return tokenizer;
}

Split checked_split(const TokenCache& cache, const Tokenizer& tokenizer, std::string_view text,
                    const DataConfig& config, std::string_view name) {
  Split split = cache.split(tokenizer, text);
  if (static_cast<dim_t>(split.tokens.size()) == split.lines()) {
    throw DataError(fmt::format("data.corpus = '{}': the {} split has nothing but blank lines",
                                config.corpus, name));
  }
  return split;
}

}  // namespace

Split make_split(const Tokenizer& tokenizer, std::string_view text) {
  Split split;
  split.line_starts.push_back(0);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    tokenizer.encode(rest.substr(0, end), split.tokens);
    split.tokens.push_back(tokenizer.eos());
    split.line_starts.push_back(static_cast<dim_t>(split.tokens.size()));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const dim_t unclosed = !text.empty() && text.back() != '\n' ? 1 : 0;
  split.characters = count_code_points(text) + unclosed;
  split.bytes = static_cast<dim_t>(text.size()) + unclosed;
  return split;
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
  check_tokenizer_kind(config.tokenizer);
  const CorpusText text = read_corpus(config, seed);
  const TokenCache cache = TokenCache::of_user();
  Dataset dataset;
  dataset.tokenizer =
      tokenizer_file
          ? stored_tokenizer(config, *tokenizer_file)
          : cache.tokenizer({config.tokenizer, config.vocab, config.min_count}, text.train);
  dataset.train = checked_split(cache, *dataset.tokenizer, text.train, config, "train");
  dataset.valid = checked_split(cache, *dataset.tokenizer, text.valid, config, "valid");
  if (!text.test.empty()) {
    dataset.test = checked_split(cache, *dataset.tokenizer, text.test, config, "test");
  }
  return dataset;
}

}  // namespace dsf
