#pragma once

#include "dsf/base/dim.h"

namespace dsf {

/// A rectangle of a matrix.
struct Tile {
  dim_t row = 0;
  dim_t col = 0;
  dim_t rows = 0;
  dim_t cols = 0;
};

}  // namespace dsf
