#include "dsf/layers/parameter.h"

#include <utility>

namespace dsf {
namespace {
constexpr dim_t kAlign = 16;  // floats in a cache line
}

ParameterId ParameterTable::add_matrix(std::string name, dim_t rows, dim_t cols, Init init) {
  return add(std::move(name), rows, cols, init, false);
}

ParameterId ParameterTable::add_vector(std::string name, dim_t size, Init init) {
  return add(std::move(name), 1, size, init, true);
}

ParameterId ParameterTable::add(std::string name, dim_t rows, dim_t cols, Init init, bool vector) {
  const ParameterId id{flat_size_, rows, cols};
  entries_.push_back({std::move(name), id, init, vector});
  flat_size_ += round_up(id.size(), kAlign);
  return id;
}

dim_t ParameterTable::parameter_count() const {
  dim_t count = 0;
  for (const ParameterInfo& entry : entries_) count += entry.id.size();
  return count;
}

}  // namespace dsf
