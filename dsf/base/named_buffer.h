#pragma once

#include <span>
#include <string>

namespace dsf {

/// Numbers of a layer or of its feedback that are not trained but belong to the model: DSF's
/// diagonal. Saved in checkpoints.
struct NamedBuffer {
  std::string name;
  std::span<float> values;
};

}  // namespace dsf
