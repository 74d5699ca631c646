#pragma once

// The reverse diagonal scan in double, one sequence and one column at a time.

#include <vector>

#include "dsf/base/packed_layout.h"
#include "dsf/base/view.h"

namespace dsf::testing {

/// g_t = e_t + a g_{t+1} over one sequence.
inline std::vector<double> reference_scan(double a, std::vector<double> e) {
  for (std::size_t t = e.size(); t-- > 1;) e[t - 1] += a * e[t];
  return e;
}

/// The elements of column j that belong to sequence b, in order of time.
inline std::vector<double> sequence_column(const PackedLayout& layout, ConstMatrixF m, dim_t b,
                                           dim_t j) {
  std::vector<double> column;
  for (dim_t t = 0; t < layout.length(b); ++t) {
    column.push_back(static_cast<double>(m(layout.offset(t) + b, j)));
  }
  return column;
}

}  // namespace dsf::testing
