#include "dsf/base/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace dsf {
namespace {

bool all_zero(const Buffer<float>& buffer) {
  return std::all_of(buffer.span().begin(), buffer.span().end(), [](float x) { return x == 0.0F; });
}

TEST(Buffer, IsZeroAfterConstruction) {
  const Buffer<float> buffer(1001);
  EXPECT_EQ(buffer.size(), 1001);
  EXPECT_TRUE(all_zero(buffer));
}

TEST(Buffer, IsAlignedToACacheLine) {
  for (const dim_t size : {1, 7, 16, 1000}) {
    const Buffer<float> buffer(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U) << size;
    const Buffer<std::uint16_t> narrow(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(narrow.data()) % 64, 0U) << size;
  }
}

TEST(Buffer, LargeOnesBeginAtALargePage) {
  const Buffer<float> buffer(2 * kLargePage / sizeof(float));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kLargePage, 0U);
}

TEST(Buffer, ResizeForgetsAndZeroes) {
  Buffer<float> buffer(8);
  std::fill_n(buffer.data(), 8, 3.0F);
  buffer.resize(4);
  EXPECT_EQ(buffer.size(), 4);
  EXPECT_TRUE(all_zero(buffer));
  buffer.resize(8);
  EXPECT_TRUE(all_zero(buffer)) << "the old end came back";
}

TEST(Buffer, EnsureKeepsTheMemoryItHas) {
  Buffer<float> buffer;
  buffer.ensure(100);
  const float* const memory = buffer.data();
  buffer[99] = 5.0F;
  buffer.ensure(50);
  EXPECT_EQ(buffer.size(), 100);
  EXPECT_EQ(buffer.data(), memory);
  EXPECT_EQ(buffer[99], 5.0F);
  buffer.ensure(101);
  EXPECT_EQ(buffer.size(), 101);
}

TEST(Buffer, MovingHandsOverTheMemory) {
  Buffer<float> first(10);
  first[3] = 4.0F;
  const float* const memory = first.data();
  Buffer<float> second(std::move(first));
  EXPECT_EQ(second.data(), memory);
  EXPECT_EQ(second.size(), 10);
  Buffer<float> third;
  third = std::move(second);
  EXPECT_EQ(third.data(), memory);
  EXPECT_EQ(third[3], 4.0F);
}

TEST(Buffer, EmptyBuffersAreUsable) {
  Buffer<float> buffer;
  EXPECT_TRUE(buffer.empty());
  EXPECT_TRUE(buffer.span().empty());
  buffer.resize(0);
  EXPECT_TRUE(buffer.empty());
}

TEST(Matrix, ReshapeKeepsTheMemoryItHas) {
  Matrix matrix(6, 4);
  const float* const memory = matrix.view().data;
  const MatrixF smaller = matrix.reshape(3, 5);
  EXPECT_EQ(smaller.data, memory);
  EXPECT_EQ(smaller.rows, 3);
  EXPECT_EQ(smaller.cols, 5);
  EXPECT_EQ(smaller.stride, 5);
  EXPECT_TRUE(smaller.dense());
}

TEST(Matrix, SpanHasTheElementsOfTheShape) {
  Matrix matrix(6, 4);
  matrix.reshape(3, 5);
  EXPECT_EQ(matrix.span().data(), matrix.view().data);
  EXPECT_EQ(matrix.span().size(), 15U);
}

TEST(Matrix, ZeroClearsTheWholeShape) {
  Matrix matrix(3, 4);
  std::ranges::fill(matrix.span(), 1.0F);
  matrix.zero();
  for (dim_t i = 0; i < 3; ++i) {
    for (dim_t j = 0; j < 4; ++j) EXPECT_EQ(matrix.view()(i, j), 0.0F);
  }
}

TEST(MatrixView, PartsPointIntoTheWhole) {
  Matrix matrix(4, 6);
  const MatrixF whole = matrix;
  for (dim_t i = 0; i < 4; ++i) {
    for (dim_t j = 0; j < 6; ++j) whole(i, j) = static_cast<float>(10 * i + j);
  }
  const MatrixF part = whole.middle_rows(1, 2).middle_cols(2, 3);
  EXPECT_EQ(part.rows, 2);
  EXPECT_EQ(part.cols, 3);
  EXPECT_FALSE(part.dense());
  EXPECT_EQ(part(0, 0), 12.0F);
  EXPECT_EQ(part(1, 2), 24.0F);
  EXPECT_EQ(part.row(1), whole.row(2) + 2);
}

}  // namespace
}  // namespace dsf
