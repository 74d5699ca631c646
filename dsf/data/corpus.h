#pragma once

// From the name of a corpus to the text of its splits. What a name may be: dsf/data/dataset.h.

#include <cstdint>
#include <string>

#include "dsf/data/data_config.h"

namespace dsf {

/// The text of each split; every line, the last too, ends with a newline.
struct CorpusText {
  std::string train;
  std::string valid;
  std::string test;  ///< may be empty
};

/// Finds, reads and splits. `seed` is for made-up languages. Text is checked to be UTF-8 unless the
/// tokenizer is `byte`. Throws ConfigError for keys that contradict each other, DataError for files
/// that are missing, empty, not text, or too short to be split.
CorpusText read_corpus(const DataConfig& config, std::uint64_t seed);

}  // namespace dsf
