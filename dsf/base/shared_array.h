#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace dsf {

/// Numbers that do not change any more, wherever they lie: in a vector of their own, or in memory
/// that `owner` keeps (a mapped file). Copies share them.
template <typename T>
class SharedArray {
 public:
  using value_type = T;
  using const_iterator = const T*;

  SharedArray() = default;
  SharedArray(std::vector<T> values) {  // NOLINT(google-explicit-constructor): the plain case
    auto owned = std::make_shared<const std::vector<T>>(std::move(values));
    view_ = *owned;
    owner_ = std::move(owned);
  }
  SharedArray(std::span<const T> view, std::shared_ptr<const void> owner)
      : view_(view), owner_(std::move(owner)) {}

  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  const T* data() const { return view_.data(); }
  const T* begin() const { return view_.data(); }
  const T* end() const { return view_.data() + view_.size(); }
  const T& operator[](std::size_t i) const { return view_[i]; }
  const T& front() const { return view_.front(); }
  const T& back() const { return view_.back(); }

  friend bool operator==(const SharedArray& a, const SharedArray& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::span<const T> view_;
  std::shared_ptr<const void> owner_;
};

}  // namespace dsf
