#pragma once

#include <string>

#include "dsf/base/dim.h"

namespace dsf {

/// Which text, and how it is cut. See dsf/data/dataset.h for what the strings may be.
struct DataConfig {
  std::string corpus;
  std::string tokenizer = "word";      ///< word | char | byte | bpe
  dim_t vocab = 0;                     ///< 0: as many as the text has
  dim_t min_count = 1;                 ///< rarer words or characters become <unk>
  std::string batching = "sentences";  ///< sentences | blocks | stream
  dim_t context = 64;                  ///< longest sequence: T
  std::string valid;                   ///< validation file(s), for a corpus of files
  std::string test;                    ///< test file(s)
  double valid_fraction = 0.05;        ///< taken from the end of the corpus where no file is given
  double test_fraction = 0.05;         ///< likewise; 0: no test split
};

}  // namespace dsf
