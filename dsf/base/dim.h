#pragma once

#include <cstdint>

namespace dsf {

/// Every size, index and stride. Signed, so that differences and loops downwards are safe.
using dim_t = std::int64_t;

/// n / unit, rounded up; n > -unit, unit >= 1.
constexpr dim_t ceil_div(dim_t n, dim_t unit) { return (n + unit - 1) / unit; }

/// The smallest multiple of `unit` that is not less than n.
constexpr dim_t round_up(dim_t n, dim_t unit) { return ceil_div(n, unit) * unit; }

}  // namespace dsf
