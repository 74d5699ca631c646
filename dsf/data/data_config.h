#pragma once

#include <string>

#include "dsf/base/choice.h"
#include "dsf/base/dim.h"

namespace dsf {

/// What a token is (dsf/data/tokenizer.h).
enum class TokenizerKind { word, character, byte, bpe };
template <>
struct ChoiceNames<TokenizerKind> {
  static constexpr auto kNames = std::to_array<std::string_view>({"word", "char", "byte", "bpe"});
};

/// How a text becomes sequences (dsf/data/batcher.h).
enum class Batching { sentences, blocks, stream };
template <>
struct ChoiceNames<Batching> {
  static constexpr std::array<std::string_view, 3> kNames = {"sentences", "blocks", "stream"};
};

/// Which text, and how it is cut. See dsf/data/dataset.h for what a corpus may be.
struct DataConfig {
  std::string corpus;
  TokenizerKind tokenizer = TokenizerKind::word;
  dim_t vocab = 0;      ///< 0: as many as the text has
  dim_t min_count = 1;  ///< rarer words or characters become <unk>
  Batching batching = Batching::sentences;
  dim_t context = 64;            ///< longest sequence: T
  std::string valid;             ///< validation file(s), for a corpus of files
  std::string test;              ///< test file(s)
  double valid_fraction = 0.05;  ///< taken from the end of the corpus if no file is given
  double test_fraction = 0.05;   ///< likewise; 0: no test split
};

}  // namespace dsf
