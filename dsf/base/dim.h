#pragma once

#include <cstdint>

namespace dsf {

/// Every size, index and stride. Signed, so that differences and loops downwards are safe.
using dim_t = std::int64_t;

}  // namespace dsf
