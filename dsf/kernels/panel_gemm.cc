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

/// How the numbers of A lie that a block reads: row by row, or packed column by column, one column's
/// kRows numbers after the other.
enum class RowsOf { matrix, packed };

/// C [kRows, 16 kPanels] (+)= A [kRows, depth] times panels that are `apart` numbers apart.
template <int kRows, int kPanels, RowsOf kFrom>
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
      const auto x = hn::Set(d, kFrom == RowsOf::packed ? a[k * kRows + i] : a[i * a_stride + k]);
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

using Block = decltype(&multiply_block<1, 1, RowsOf::matrix>);

/// What depends on the number of rows: the function for one panel, and the one for several panels.
struct BlockOf {
  Block one;
  Block several;
  dim_t panels;  // that `several` takes
};

template <RowsOf kFrom>
HWY_INLINE BlockOf block_of(dim_t rows) {
  switch (rows) {
    case 1:
      return {multiply_block<1, 1, kFrom>, multiply_block<1, 4, kFrom>, 4};
    case 2:
      return {multiply_block<2, 1, kFrom>, multiply_block<2, 3, kFrom>, 3};
    case 3:
      return {multiply_block<3, 1, kFrom>, multiply_block<3, 2, kFrom>, 2};
    case 4:
      return {multiply_block<4, 1, kFrom>, multiply_block<4, 1, kFrom>, 1};
    case 5:
      return {multiply_block<5, 1, kFrom>, multiply_block<5, 1, kFrom>, 1};
    default:
      return {multiply_block<6, 1, kFrom>, multiply_block<6, 1, kFrom>, 1};
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

// A block of rows of C's last columns, fewer than a panel has: by way of a block of whole width.
template <RowsOf kFrom>
void multiply_narrow_block(const float* a, dim_t a_stride, const float* panel, dim_t depth,
                           Into into, MatrixF c) {
  HWY_ALIGN float whole[kMostRows * PackedRight::kCols] = {};
  for (dim_t i = 0; i < c.rows && into == Into::accumulate; ++i) {
    std::copy_n(c.row(i), c.cols, whole + i * PackedRight::kCols);
  }
  block_of<kFrom>(c.rows).one(a, a_stride, panel, 0, depth, into, whole, PackedRight::kCols);
  for (dim_t i = 0; i < c.rows; ++i) {
    std::copy_n(whole + i * PackedRight::kCols, c.cols, c.row(i));
  }
}

// One panel with all rows after the other: B is read once. For few rows, which stay in the cache.
void by_panels(ConstMatrixF a, const float* panel, dim_t apart, Into into, MatrixF c) {
  const RowBlocks blocks(c.rows);
  const dim_t whole = c.cols / PackedRight::kCols;
  const dim_t at_once = c.rows <= 3 ? block_of<RowsOf::matrix>(c.rows).panels : 1;
  for (dim_t p = 0; p < whole;) {
    const bool several = p + at_once <= whole;
    blocks.for_each([&](dim_t row, dim_t height) {
      const BlockOf block = block_of<RowsOf::matrix>(height);
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
      const auto multiply = block_of<RowsOf::matrix>(height).one;
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
  if (done == c.cols) return;
  const MatrixF last = c.middle_cols(done, c.cols - done);
  RowBlocks(c.rows).for_each([&](dim_t row, dim_t height) {
    multiply_narrow_block<RowsOf::matrix>(a.row(row), a.stride, panel + whole * apart, a.cols, into,
                                          last.middle_rows(row, height));
  });
}

// B's columns in whole panels.
void pack_rows(ConstMatrixF b, float* panels) {
  const Tag d;
  for (dim_t k = 0; k < b.rows; ++k) {
    const float* row = b.row(k);
    float* to = panels + k * PackedRight::kCols;
    for (dim_t col = 0; col < b.cols;
         col += PackedRight::kCols, to += b.rows * PackedRight::kCols) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) {
        hn::Store(hn::LoadU(d, row + col + j * kLanes), d, to + j * kLanes);
      }
    }
  }
}

// The columns of A, which are the rows of A^T, in RowBlocks, each packed for RowsOf::packed. Whole vectors are
// written: what lies beyond a block's height is overwritten by its next column.
void pack_columns(ConstMatrixF a, float* packed) {
  constexpr int kReach = 8;  // numbers that a copy writes
  static_assert(kReach >= kMostRows);
  const hn::CappedTag<float, kReach> d;
  constexpr int kStep = static_cast<int>(hn::MaxLanes(hn::CappedTag<float, kReach>()));
  // Rows of A that a pass over its columns takes: whole lines are read once.
  constexpr dim_t kTogether = 8;
  const RowBlocks blocks(a.cols);
  for (dim_t first = 0; first < a.rows; first += kTogether) {
    const dim_t last = std::min(first + kTogether, a.rows);
    blocks.for_each([&](dim_t col, dim_t height) {
      float* block = packed + col * a.rows;
      const bool reach = col + kReach <= a.cols && last + kReach <= a.rows;
      for (dim_t k = first; k < last; ++k) {
        const float* row = a.row(k) + col;
        if (reach) {
          for (int i = 0; i < kReach; i += kStep) {
            hn::StoreU(hn::LoadU(d, row + i), d, block + k * height + i);
          }
        } else {
          std::copy_n(row, height, block + k * height);
        }
      }
    });
  }
}

// C (+)= A B with both packed: a panel stays in the first-level cache, the blocks of A in the second.
void multiply_packed(const float* a, const float* panel, dim_t depth, Into into, MatrixF c) {
  const RowBlocks blocks(c.rows);
  for (dim_t col = 0; col < c.cols;
       col += PackedRight::kCols, panel += depth * PackedRight::kCols) {
    const dim_t width = std::min(PackedRight::kCols, c.cols - col);
    blocks.for_each([&](dim_t row, dim_t height) {
      const float* rows = a + row * depth;
      if (width == PackedRight::kCols) {
        block_of<RowsOf::packed>(height).one(rows, 0, panel, 0, depth, into, c.row(row) + col,
                                             c.stride);
      } else {
        multiply_narrow_block<RowsOf::packed>(rows, 0, panel, depth, into,
                                              c.middle_rows(row, height).middle_cols(col, width));
      }
    });
  }
}

// Two vectors a panel: the block of six rows fills the registers.
bool fills_registers() { return kVectors == 2; }

}  // namespace dsf::panels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf::panels {
HWY_EXPORT(multiply_panels);
HWY_EXPORT(pack_rows);
HWY_EXPORT(pack_columns);
HWY_EXPORT(multiply_packed);
HWY_EXPORT(fills_registers);

bool fast() { return HWY_DYNAMIC_DISPATCH(fills_registers)(); }

void multiply(Op op_a, const OperandView& a, Op op_b, const OperandView& b, Into into, MatrixF c) {
  constexpr dim_t kMostDeep = 256;  // a panel of it stays in the first-level cache
  constexpr dim_t kMostWide = 256;  // the panels of it, and the blocks of A, in the second
  thread_local Buffer<float> wide;
  thread_local Buffer<float> blocks;
  thread_local PackedRight right;
  const dim_t k = op_cols(op_a, a);
  for (dim_t begin = 0; begin < k; begin += kMostDeep) {
    const dim_t deep = std::min(kMostDeep, k - begin);
    const OperandView left = op_block(op_a, a, 0, c.rows, begin, deep);
    if (op_a == Op::transpose) {
      blocks.ensure(c.rows * deep);
      const Factor columns = present(Op::none, left, left.precision == Precision::bf16, wide);
      HWY_DYNAMIC_DISPATCH(pack_columns)(columns.view, blocks.data());
    }
    for (dim_t col = 0; col < c.cols; col += kMostWide) {
      const MatrixF part = c.middle_cols(col, std::min(kMostWide, c.cols - col));
      right.reshape(deep, part.cols);
      right.pack(op_b, op_block(op_b, b, begin, deep, col, part.cols), 0);
      if (op_a == Op::transpose) {
        HWY_DYNAMIC_DISPATCH(multiply_packed)
        (blocks.data(), right.panels_.data(), deep, into, part);
      } else {
        right.multiply(left, 0, into, part);
      }
    }
    into = Into::accumulate;
  }
}

void PackedRight::reshape(dim_t k, dim_t n) {
  k_ = k;
  panels_.ensure(round_up(n, kCols) * k);
}

void PackedRight::pack(Op op, const OperandView& part, dim_t col) {
  const dim_t cols = op_cols(op, part);
  dim_t packed = 0;
  if (op == Op::none && part.precision == Precision::f32) {
    packed = cols / kCols * kCols;
    const ConstMatrixF whole(static_cast<const float*>(part.at(0, 0)), k_, packed, part.stride);
    HWY_DYNAMIC_DISPATCH(pack_rows)(whole, panels_.data() + col * k_);
  }
  for (dim_t begin = packed; begin < cols; begin += kCols) {
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
