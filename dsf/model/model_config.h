#pragma once

#include <string>

#include "dsf/base/dim.h"

namespace dsf {

/// The shape of a language model; the vocabulary comes from the tokenizer.
struct ModelConfig {
  std::string mixer = "gru";    ///< rnn | gru | lstm
  dim_t hidden = 256;           ///< D
  dim_t layers = 1;             ///< blocks
  std::string block = "plain";  ///< plain: x + Mixer(x)
  bool skip = true;             ///< the skip connections of the blocks
  std::string reset = "after";  ///< gru: reset gate after | before the recurrent product
};

}  // namespace dsf
