#pragma once

#include <algorithm>
#include <cstdlib>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "dsf/base/dim.h"
#include "dsf/base/large_pages.h"
#include "dsf/base/view.h"

namespace dsf {

/// Owns an array of trivial elements, aligned to a cache line, and from two large pages on to a
/// large page. Contents are zero after construction. Move-only: there is one owner, everybody else
/// holds a span or a view.
template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::size_t kAlignment = 64;

  Buffer() = default;
  explicit Buffer(dim_t size) { resize(size); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data_); }

  /// Exactly `size` elements, all zero; earlier contents are lost.
  void resize(dim_t size) {
    reserve(size);
    size_ = size;
    std::fill_n(data_, size_, T{});
  }

  /// At least `size` elements of undefined content. Allocates only when it has to grow, so that a
  /// buffer sized by the first (largest) step is never allocated again.
  void ensure(dim_t size) {
    reserve(size);
    size_ = std::max(size_, size);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  dim_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](dim_t i) { return data_[i]; }
  const T& operator[](dim_t i) const { return data_[i]; }
  std::span<T> span() { return {data_, static_cast<std::size_t>(size_)}; }
  std::span<const T> span() const { return {data_, static_cast<std::size_t>(size_)}; }

 private:
  void reserve(dim_t size) {
    if (size <= capacity_) return;
    const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T);
    const bool large = bytes >= 2 * kLargePage;
    const std::size_t alignment = large ? kLargePage : kAlignment;
    void* fresh = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (fresh == nullptr) throw std::bad_alloc();
    if (large) advise_large_pages(fresh, bytes);
    std::free(data_);
    data_ = static_cast<T*>(fresh);
    capacity_ = size;
  }
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  T* data_ = nullptr;
  dim_t size_ = 0;
  dim_t capacity_ = 0;
};

/// A buffer seen as a dense matrix; grows, never shrinks its memory.
class Matrix {
 public:
  Matrix() = default;
  Matrix(dim_t rows, dim_t cols) { reshape(rows, cols); }

  /// The new shape; contents undefined (`zero` clears them).
  MatrixView<float> reshape(dim_t rows, dim_t cols) {
    buffer_.ensure(rows * cols);
    rows_ = rows;
    cols_ = cols;
    return view();
  }
  void zero() { std::fill_n(buffer_.data(), rows_ * cols_, 0.0F); }

  dim_t rows() const { return rows_; }
  dim_t cols() const { return cols_; }
  MatrixView<float> view() { return {buffer_.data(), rows_, cols_, cols_}; }
  MatrixView<const float> view() const { return {buffer_.data(), rows_, cols_, cols_}; }
  /// All elements, row by row.
  std::span<float> span() { return buffer_.span().first(size()); }
  std::span<const float> span() const { return buffer_.span().first(size()); }
  operator MatrixView<float>() { return view(); }
  operator MatrixView<const float>() const { return view(); }

 private:
  std::size_t size() const { return static_cast<std::size_t>(rows_ * cols_); }

  Buffer<float> buffer_;
  dim_t rows_ = 0;
  dim_t cols_ = 0;
};

}  // namespace dsf
