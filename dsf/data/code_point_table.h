#pragma once

// A value for each code point. Memory follows the pages of 256 code points that are used: a text
// with a single rare character takes kilobytes, not the megabytes of all code points up to it.

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "dsf/base/utf8.h"

namespace dsf {

template <typename T>
class CodePointTable {
 public:
  /// `otherwise`: what a code point has that was never set.
  explicit CodePointTable(T otherwise) : otherwise_(otherwise) {}

  /// Any value, kMalformed included.
  T get(char32_t point) const {
    const std::size_t page = point / kPage;
    if (page >= pages_.size() || pages_[page] == nullptr) return otherwise_;
    return (*pages_[page])[point % kPage];
  }

  /// The place of `point` < kCodePoints.
  T& at(char32_t point) {
    const std::size_t page = point / kPage;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (pages_[page] == nullptr) {
      pages_[page] = std::make_unique<Page>();
      pages_[page]->fill(otherwise_);
    }
    return (*pages_[page])[point % kPage];
  }

  /// Calls visit(code point, value) for each code point of the used pages, in ascending order.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t page = 0; page < pages_.size(); ++page) {
      if (pages_[page] == nullptr) continue;
      for (std::size_t i = 0; i < kPage; ++i) {
        visit(static_cast<char32_t>(page * kPage + i), (*pages_[page])[i]);
      }
    }
  }

 private:
  static constexpr std::size_t kPage = 256;
  using Page = std::array<T, kPage>;

  T otherwise_;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace dsf
