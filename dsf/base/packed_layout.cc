#include "dsf/base/packed_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dsf/base/error.h"

namespace dsf {

PackedLayout::PackedLayout(std::vector<dim_t> rows_per_step) : rows_(std::move(rows_per_step)) {
  offset_.reserve(rows_.size() + 1);
  offset_.push_back(0);
  dim_t previous = rows_.empty() ? 0 : rows_.front();
  for (std::size_t t = 0; t < rows_.size(); ++t) {
    if (rows_[t] <= 0 || rows_[t] > previous) {
      throw DataError(fmt::format(
          "packed layout: step {} has {} rows after {}; rows must be positive and never increase",
          t, rows_[t], previous));
    }
    previous = rows_[t];
    offset_.push_back(offset_.back() + rows_[t]);
  }
  lengths_.assign(static_cast<std::size_t>(batch()), 0);
  for (dim_t rows : rows_) {
    for (dim_t b = 0; b < rows; ++b) ++lengths_[static_cast<std::size_t>(b)];
  }
}

PackedLayout PackedLayout::uniform(dim_t steps, dim_t batch) {
  return PackedLayout(std::vector<dim_t>(static_cast<std::size_t>(steps), batch));
}

StepRows slice_at(const PackedLayout& layout, dim_t t, dim_t begin, dim_t end) {
  const dim_t alive = std::min(end, layout.rows_at(t));
  return {t, begin, std::max<dim_t>(0, alive - begin)};
}

}  // namespace dsf
