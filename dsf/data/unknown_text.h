#pragma once

// What the token <unk> hides of a text.

#include <span>
#include <string_view>

#include "dsf/data/tokenizer.h"

namespace dsf {

struct UnknownText {
  dim_t tokens = 0;  ///< that are <unk>, though the text has something else there
  dim_t bytes = 0;   ///< of the text behind them; of a word also the white space that ends it
};

/// Of one line, `tokens` being what the tokenizer made of it. A literal "<unk>" in the text, as
/// Penn Treebank has it, hides nothing.
UnknownText find_unknown(const Tokenizer& tokenizer, std::string_view line,
                         std::span<const token_t> tokens);

}  // namespace dsf
