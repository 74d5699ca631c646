#pragma once

#include <string>

#include "dsf/base/dim.h"

namespace dsf {

/// The shape of a language model; the vocabulary comes from the tokenizer.
struct ModelConfig {
  std::string mixer = "gru";  ///< rnn | gru | lstm | attention | ema
  dim_t hidden = 256;         ///< D
  dim_t layers = 1;           ///< blocks
  /// plain: x + Mixer(x) | transformer: see layers/transformer_block.h
  std::string block = "plain";
  bool skip = true;             ///< the skip connections of the blocks
  std::string reset = "after";  ///< gru: reset gate after | before the recurrent product
  dim_t context = 64;           ///< longest sequence that attention's learned positions cover
  bool recompute = false;       ///< recurrent layers keep their states alone: see RecurrentLayer
};

}  // namespace dsf
