#include "dsf/layers/parameter.h"

#include <atomic>
#include <utility>

namespace dsf {
namespace {

constexpr dim_t kAlign = 16;  // floats in a cache line

// A number that no other call in this process gets. Only its being different matters, not the order
// in which threads see it.
std::uint64_t new_version() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

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

ParameterValues::ParameterValues(const ParameterTable& table, Precision precision)
    : flat_(table.flat_size()), precision_(precision), version_(new_version()) {}

std::span<float> ParameterValues::mutable_span() {
  version_ = new_version();
  return flat_.span();
}

void ParameterValues::set_precision(Precision precision) {
  if (precision == precision_) return;
  precision_ = precision;
  version_ = new_version();
}

}  // namespace dsf
