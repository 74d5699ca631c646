#pragma once

// What a corpus is made of, counted in words between ASCII white space.

#include <string>
#include <string_view>
#include <vector>

#include "dsf/base/dim.h"
#include "dsf/data/corpus.h"

namespace dsf {

struct SplitReport {
  std::string name;  ///< train | valid | test
  dim_t bytes = 0;
  dim_t characters = 0;   ///< Unicode code points
  dim_t lines = 0;        ///< blank ones included
  dim_t blank_lines = 0;  ///< no word in them
  dim_t documents = 0;    ///< WikiText: titles like " = Valkyria = ", between blank lines
  dim_t tokens = 0;       ///< words
  dim_t types = 0;        ///< different words
  dim_t unknown = 0;      ///< words that are <unk> in the text already
  dim_t unseen = 0;       ///< words that the training text does not have
};

/// Train first, then valid and test; a split without text is left out.
std::vector<SplitReport> describe_corpus(const CorpusText& text);

}  // namespace dsf
