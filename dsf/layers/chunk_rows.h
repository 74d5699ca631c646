#pragma once

#include <algorithm>

#include "dsf/base/dim.h"

namespace dsf {

/// Rows that the head and the MLPs work on at a time: large enough for the GEMMs to run at full
/// speed, small enough for the logits to stay near the cores, and for the 4D-wide scratch of an MLP
/// to be a trifle beside the tape.
inline constexpr dim_t kChunkRows = 1024;

/// body(first row, rows) over the chunks, in order.
template <typename Body>
void for_each_chunk(dim_t rows, const Body& body) {
  for (dim_t begin = 0; begin < rows; begin += kChunkRows) {
    body(begin, std::min(kChunkRows, rows - begin));
  }
}

}  // namespace dsf
