#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "dsf/base/packed_layout.h"

namespace dsf {

/// Of sequences of these lengths, longest first.
inline PackedLayout layout_of_lengths(const std::vector<dim_t>& lengths) {
  std::vector<dim_t> rows;
  for (dim_t t = 0; t < lengths.front(); ++t) {
    rows.push_back(
        std::count_if(lengths.begin(), lengths.end(), [&](dim_t length) { return length > t; }));
  }
  return PackedLayout(std::move(rows));
}

/// Three chunks of the blocked scan's 32 steps, with sequences that end within them and at their
/// edges.
inline PackedLayout long_ragged_layout() {
  return layout_of_lengths({75, 70, 65, 64, 33, 32, 5, 1});
}

}  // namespace dsf
