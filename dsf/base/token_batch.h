#pragma once

#include <cstdint>
#include <vector>

#include "dsf/base/packed_layout.h"

namespace dsf {

/// A token id.
using token_t = std::int32_t;

/// One batch of a language model: row i of the packed layout reads inputs[i] and must predict
/// targets[i]. Both hold layout.total_rows() tokens.
struct TokenBatch {
  PackedLayout layout;
  std::vector<token_t> inputs;
  std::vector<token_t> targets;

  dim_t tokens() const { return layout.total_rows(); }
};

}  // namespace dsf
