#include "dsf/kernels/panel_gemm.h"

#include <algorithm>

#include "dsf/kernels/gemm_operand.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/panel_gemm.cc"
#include "hwy/foreach_target.h"  // must come before highway.h

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::panels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A panel's row is one vector of AVX-512, two of AVX2.
using Tag = hn::CappedTag<float, PackedRight::kCols>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag()));
constexpr int kVectors = static_cast<int>(PackedRight::kCols) / kLanes;

// The registers: kRows x (kPanels * kVectors) sums, a row of the panels, a number of A.
constexpr int kMostRows = 6;

/// C [kRows, 16 kPanels] (+)= A [kRows, depth] times panels that are `apart` numbers apart.
template <int kRows, int kPanels>
HWY_NOINLINE void multiply_block(const float* a, dim_t a_stride, const float* panel, dim_t apart,
                                 dim_t depth, Into into, float* c, dim_t c_stride) {
  const Tag d;
  constexpr int kWide = kPanels * kVectors;
  hn::Vec<Tag> sums[kRows][kWide];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kWide; ++j) {
      sums[i][j] =
          into == Into::accumulate ? hn::LoadU(d, c + i * c_stride + j * kLanes) : hn::Zero(d);
    }
  }
  for (dim_t k = 0; k < depth; ++k) {
    hn::Vec<Tag> b[kWide];
#pragma GCC unroll 8
    for (int j = 0; j < kWide; ++j) {
      b[j] = hn::Load(
          d, panel + j / kVectors * apart + k * PackedRight::kCols + j % kVectors * kLanes);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const auto x = hn::Set(d, a[i * a_stride + k]);
#pragma GCC unroll 8
      for (int j = 0; j < kWide; ++j) sums[i][j] = hn::MulAdd(x, b[j], sums[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kWide; ++j) hn::StoreU(sums[i][j], d, c + i * c_stride + j * kLanes);
  }
}

template <int kPanels>
using Block = decltype(&multiply_block<1, kPanels>);

/// What depends on the number of rows: the function for one panel, and the one for several panels.
struct BlockOf {
  Block<1> one;
  Block<1> several;
  dim_t panels;  // that `several` takes
};

HWY_INLINE BlockOf block_of(dim_t rows) {
  switch (rows) {
    case 1:
      return {multiply_block<1, 1>, multiply_block<1, 4>, 4};
    case 2:
      return {multiply_block<2, 1>, multiply_block<2, 3>, 3};
    case 3:
      return {multiply_block<3, 1>, multiply_block<3, 2>, 2};
    case 4:
      return {multiply_block<4, 1>, multiply_block<4, 1>, 1};
    case 5:
      return {multiply_block<5, 1>, multiply_block<5, 1>, 1};
    default:
      return {multiply_block<6, 1>, multiply_block<6, 1>, 1};
  }
}

/// The rows of A and C in blocks of nearly equal height.
class RowBlocks {
 public:
  explicit RowBlocks(dim_t rows)
      : blocks_(ceil_div(rows, dim_t{kMostRows})),
        height_(rows / blocks_),
        taller_(rows % blocks_) {}
  template <typename Body>
  HWY_INLINE void for_each(const Body& body) const {
    dim_t row = 0;
    for (dim_t block = 0; block < blocks_; ++block) {
      const dim_t height = height_ + (block < taller_ ? 1 : 0);
      body(row, height);
      row += height;
    }
  }

 private:
  dim_t blocks_;
  dim_t height_;
  dim_t taller_;  // so many blocks have a row more
};

// The last columns of C, fewer than a panel has: by way of a block of whole width.
void multiply_last_columns(ConstMatrixF a, const float* panel, Into into, MatrixF c) {
  RowBlocks(c.rows).for_each([&](dim_t row, dim_t height) {
    HWY_ALIGN float whole[kMostRows * PackedRight::kCols] = {};
    for (dim_t i = 0; i < height && into == Into::accumulate; ++i) {
      std::copy_n(c.row(row + i), c.cols, whole + i * PackedRight::kCols);
    }
    block_of(height).one(a.row(row), a.stride, panel, 0, a.cols, into, whole, PackedRight::kCols);
    for (dim_t i = 0; i < height; ++i) {
      std::copy_n(whole + i * PackedRight::kCols, c.cols, c.row(row + i));
    }
  });
}

// One panel with all rows after the other: B is read once. For few rows, which stay in the cache.
void by_panels(ConstMatrixF a, const float* panel, dim_t apart, Into into, MatrixF c) {
  const RowBlocks blocks(c.rows);
  const dim_t whole = c.cols / PackedRight::kCols;
  const dim_t at_once = c.rows <= 3 ? block_of(c.rows).panels : 1;
  for (dim_t p = 0; p < whole;) {
    const bool several = p + at_once <= whole;
    blocks.for_each([&](dim_t row, dim_t height) {
      const BlockOf block = block_of(height);
      const auto multiply = several && at_once > 1 ? block.several : block.one;
      multiply(a.row(row), a.stride, panel + p * apart, apart, a.cols, into,
               c.row(row) + p * PackedRight::kCols, c.stride);
    });
    p += several ? at_once : 1;
  }
}

// One block of rows with a group of panels after the other: A is read once for each group, which stays in
// the second-level cache. For many rows.
void by_rows(ConstMatrixF a, const float* panel, dim_t apart, Into into, MatrixF c) {
  constexpr dim_t kGroup = 8;
  const RowBlocks blocks(c.rows);
  const dim_t whole = c.cols / PackedRight::kCols;
  for (dim_t first = 0; first < whole; first += kGroup) {
    const dim_t last = std::min(first + kGroup, whole);
    blocks.for_each([&](dim_t row, dim_t height) {
      const auto multiply = block_of(height).one;
      for (dim_t p = first; p < last; ++p) {
        multiply(a.row(row), a.stride, panel + p * apart, apart, a.cols, into,
                 c.row(row) + p * PackedRight::kCols, c.stride);
      }
    });
  }
}

// C (+)= A B, `panel` the first of B's, `apart` numbers from one to the next.
void multiply_panels(ConstMatrixF a, const float* panel, dim_t apart, Into into, MatrixF c) {
  if (c.rows <= PackedRight::kFewRows) {
    by_panels(a, panel, apart, into, c);
  } else {
    by_rows(a, panel, apart, into, c);
  }
  const dim_t whole = c.cols / PackedRight::kCols;
  const dim_t done = whole * PackedRight::kCols;
  if (done < c.cols) {
    multiply_last_columns(a, panel + whole * apart, into, c.middle_cols(done, c.cols - done));
  }
}

}  // namespace dsf::panels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf::panels {
HWY_EXPORT(multiply_panels);

void PackedRight::reshape(dim_t k, dim_t n) {
  k_ = k;
  panels_.ensure(round_up(n, kCols) * k);
}

void PackedRight::pack(Op op, const OperandView& part, dim_t col) {
  const dim_t cols = op_cols(op, part);
  for (dim_t begin = 0; begin < cols; begin += kCols) {
    const dim_t width = std::min(kCols, cols - begin);
    float* panel = panels_.data() + (col + begin) * k_;
    if (width < kCols) std::fill_n(panel, k_ * kCols, 0.0F);
    copy_op(op, op_block(op, part, 0, k_, begin, width), MatrixF(panel, k_, width, kCols));
  }
}

void PackedRight::multiply(const OperandView& a, dim_t col, Into into, MatrixF c) const {
  // What meets stays in the second-level cache: few rows and a panel, or a block of rows and a group of
  // panels.
  const dim_t most_deep = c.rows <= PackedRight::kFewRows ? 2048 : 512;
  thread_local Buffer<float> wide;
  for (dim_t k = 0; k < a.cols; k += most_deep) {
    const dim_t deep = std::min(most_deep, a.cols - k);
    const Factor rows =
        present(Op::none, a.block(0, a.rows, k, deep), a.precision == Precision::bf16, wide);
    HWY_DYNAMIC_DISPATCH(multiply_panels)
    (rows.view, panels_.data() + col * k_ + k * kCols, k_ * kCols, into, c);
    into = Into::accumulate;
  }
}

}  // namespace dsf::panels
#endif  // HWY_ONCE
