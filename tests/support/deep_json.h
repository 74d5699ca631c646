#pragma once

#include <string>

namespace dsf {

/// Lists inside each other: "[[[]]]" is three deep.
inline std::string deep_json(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

/// Deep enough that who goes down into it, a function call a list, overflows the stack.
inline std::string bottomless_json() { return deep_json(300'000); }

}  // namespace dsf
