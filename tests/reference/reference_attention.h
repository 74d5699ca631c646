#pragma once

// Causal multi-head attention with the whole matrix of probabilities, one sequence at a time.

#include <cmath>
#include <string>
#include <vector>

#include "dsf/base/packed_layout.h"
#include "tests/reference/reference_layers.h"

namespace dsf::reference {

template <typename S>
Grid<S> attention(const NamedGrids<S>& parameters, const std::string& prefix, dim_t heads,
                  const PackedLayout& layout, const Grid<S>& x) {
  using std::exp;
  const Grid<S> qkv = linear(parameters, prefix + "qkv.", x);
  const dim_t width = x.cols;
  const dim_t d = width / heads;
  const S scale = 1.0 / std::sqrt(static_cast<double>(d));
  Grid<S> y(x.rows, width);
  for (dim_t b = 0; b < layout.batch(); ++b) {
    for (dim_t h = 0; h < heads; ++h) {
      for (dim_t t = 0; t < layout.length(b); ++t) {
        const dim_t query = layout.offset(t) + b;
        std::vector<S> weights;
        S sum = 0.0;
        for (dim_t s = 0; s <= t; ++s) {
          S score = 0.0;
          for (dim_t j = 0; j < d; ++j) {
            score += qkv(query, h * d + j) * qkv(layout.offset(s) + b, width + h * d + j);
          }
          weights.push_back(exp(scale * score));
          sum += weights.back();
        }
        for (dim_t j = 0; j < d; ++j) {
          S value = 0.0;
          for (dim_t s = 0; s <= t; ++s) {
            value += weights[static_cast<std::size_t>(s)] / sum *
                     qkv(layout.offset(s) + b, 2 * width + h * d + j);
          }
          y(query, h * d + j) = value;
        }
      }
    }
  }
  return y;
}

}  // namespace dsf::reference
