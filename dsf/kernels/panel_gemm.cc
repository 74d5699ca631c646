#include "dsf/kernels/panel_gemm.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dsf/kernels/gemm_operand.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/panel_gemm.cc"
#include "hwy/foreach_target.h"  // must come before highway.h

#include "hwy/highway.h"

#ifndef DSF_PANEL_PIECE
#define DSF_PANEL_PIECE
namespace dsf::panels {
namespace {

/// What is packed at a time of two matrices that are used once.
struct Piece {
  dim_t deep;  // of the inner dimension
  dim_t rows;  // of C
};

}  // namespace
}  // namespace dsf::panels
#endif

HWY_BEFORE_NAMESPACE();
namespace dsf::panels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A panel's row is one vector of AVX-512, two of AVX2.
using Tag = hn::CappedTag<float, PackedRight::kCols>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag()));
constexpr int kVectors = static_cast<int>(PackedRight::kCols) / kLanes;

// The registers: kRows x (kPanels * kVectors) sums, a row of the panels, a number of A.
constexpr bool kNarrow = kVectors > 1;
constexpr int kMostRows = kNarrow ? 6 : 12;

/// Which factors are packed: B into panels; A column by column, one column's kRows numbers after the
/// other. What is not lies row by row.
enum class Packed { none, b, both };

/// 16 kPanels columns of B: panels that are `apart` numbers apart, or with Packed::none part of a
/// matrix, 16 numbers apart, with `stride` from row to row.
struct Panels {
  const float* data;
  dim_t apart;
  dim_t stride = PackedRight::kCols;

  HWY_INLINE Panels from(dim_t panel) const { return {data + panel * apart, apart, stride}; }
};

/// C [kRows, 16 kPanels] (+)= A [kRows, depth] B [depth, 16 kPanels].
template <int kRows, int kPanels, Packed kPacked>
HWY_NOINLINE void multiply_block(const float* a, dim_t a_stride, Panels panels, dim_t depth,
                                 Into into, float* c, dim_t c_stride) {
  const Tag d;
  constexpr int kWide = kPanels * kVectors;
  hn::Vec<Tag> sums[kRows][kWide];
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < kWide; ++j) {
      sums[i][j] =
          into == Into::accumulate ? hn::LoadU(d, c + i * c_stride + j * kLanes) : hn::Zero(d);
    }
  }
  const dim_t stride = kPacked == Packed::none ? panels.stride : PackedRight::kCols;
  for (dim_t k = 0; k < depth; ++k) {
    hn::Vec<Tag> b[kWide];
#pragma GCC unroll 12
    for (int j = 0; j < kWide; ++j) {
      b[j] = hn::LoadU(
          d, panels.data + j / kVectors * panels.apart + k * stride + j % kVectors * kLanes);
    }
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i) {
      const auto x = hn::Set(d, kPacked == Packed::both ? a[k * kRows + i] : a[i * a_stride + k]);
#pragma GCC unroll 12
      for (int j = 0; j < kWide; ++j) sums[i][j] = hn::MulAdd(x, b[j], sums[i][j]);
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < kWide; ++j) hn::StoreU(sums[i][j], d, c + i * c_stride + j * kLanes);
  }
}

using Block = decltype(&multiply_block<1, 1, Packed::b>);

/// What depends on the number of rows: the function for one panel, and the one for several panels.
struct BlockOf {
  Block one;
  Block several;
  dim_t panels;  // that `several` takes

  /// `count` panels, C's columns being 16 count.
  HWY_INLINE void multiply(const float* a, dim_t a_stride, Panels b, dim_t count, dim_t depth,
                           Into into, float* c, dim_t c_stride) const {
    for (dim_t p = 0; p < count;) {
      const bool together = p + panels <= count;
      (together ? several : one)(a, a_stride, b.from(p), depth, into, c + p * PackedRight::kCols,
                                 c_stride);
      p += together ? panels : 1;
    }
  }
};

// As many panels at once as the registers hold sums of: 16 of AVX2, 32 of AVX-512. A unit begins two
// vectors of products per cycle and takes four cycles for each, so at least eight sums are needed.
constexpr int panels_for(int rows) {
  if (kNarrow) return rows < 4 ? std::array{4, 3, 2}[static_cast<std::size_t>(rows - 1)] : 1;
  return rows <= 2 ? 8 : rows <= 6 ? 4 : 2;
}

template <Packed kPacked, std::size_t... kIndex>
constexpr auto make_blocks(std::index_sequence<kIndex...> /*heights*/) {
  return std::array<BlockOf, sizeof...(kIndex)>{BlockOf{
      multiply_block<kIndex + 1, 1, kPacked>,
      multiply_block<kIndex + 1, panels_for(kIndex + 1), kPacked>, panels_for(kIndex + 1)}...};
}

template <Packed kPacked>
HWY_INLINE const BlockOf& block_of(dim_t rows) {
  static constexpr auto kBlocks = make_blocks<kPacked>(std::make_index_sequence<kMostRows>());
  return kBlocks[static_cast<std::size_t>(rows - 1)];
}

/// The rows of A and C in blocks of nearly equal height.
class RowBlocks {
 public:
  explicit RowBlocks(dim_t rows)
      : blocks_(ceil_div(rows, dim_t{kMostRows})),
        height_(rows / blocks_),
        taller_(rows % blocks_) {}
  dim_t count() const { return blocks_; }
  /// Of the lowest block.
  dim_t height() const { return height_; }
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
template <Packed kPacked>
void multiply_narrow_block(const float* a, dim_t a_stride, const float* panel, dim_t depth,
                           Into into, MatrixF c) {
  HWY_ALIGN float whole[kMostRows * PackedRight::kCols] = {};
  for (dim_t i = 0; i < c.rows && into == Into::accumulate; ++i) {
    std::copy_n(c.row(i), c.cols, whole + i * PackedRight::kCols);
  }
  block_of<kPacked>(c.rows).one(a, a_stride, {panel, 0}, depth, into, whole, PackedRight::kCols);
  for (dim_t i = 0; i < c.rows; ++i) {
    std::copy_n(whole + i * PackedRight::kCols, c.cols, c.row(i));
  }
}

/// Asks for numbers that are packed next, a few rows at a time, while others are multiplied.
class Ahead {
 public:
  Ahead() = default;
  /// In `parts` parts of equal size.
  Ahead(ConstMatrixF numbers, dim_t parts)
      : numbers_(numbers), part_(ceil_div(numbers.rows, std::max<dim_t>(parts, 1))) {}

  HWY_INLINE void ask_for_part() {
    const dim_t end = std::min(row_ + part_, numbers_.rows);
    for (; row_ < end; ++row_) {
      for (dim_t col = 0; col < numbers_.cols; col += kLine) {
        __builtin_prefetch(numbers_.row(row_) + col, 0, kSecondLevel);
      }
    }
  }

 private:
  static constexpr dim_t kLine = 16;
  static constexpr int kSecondLevel = 2;

  ConstMatrixF numbers_;
  dim_t part_ = 0;
  dim_t row_ = 0;
};

// C (+)= A B. `a_step`: from one row of A to the next, or from a block's to the next one's. `last`: the
// panel that belongs to C's last columns, if they do not fill one. `ahead`: what comes afterwards.
template <Packed kPacked>
void multiply_blocks(const float* a, dim_t a_step, Panels b, const float* last, dim_t depth,
                     Into into, MatrixF c, Ahead ahead = {}) {
  // Few rows stay in the cache: all of them meet as many panels as a block takes at once before the
  // next ones, so that B is read once. Many rows meet a group of panels, which stays in the
  // second-level cache while A is read once. Blocks of packed rows, never many, are as few rows.
  constexpr dim_t kGroup = 8;
  const RowBlocks blocks(c.rows);
  const dim_t whole = c.cols / PackedRight::kCols;
  const bool few = kPacked == Packed::both || c.rows <= PackedRight::kFewRows;
  const dim_t group = few ? block_of<kPacked>(blocks.height()).panels : kGroup;
  for (dim_t p = 0; p < whole; p += group) {
    const dim_t panels = std::min(group, whole - p);
    const MatrixF columns = c.middle_cols(p * PackedRight::kCols, panels * PackedRight::kCols);
    blocks.for_each([&](dim_t row, dim_t height) {
      block_of<kPacked>(height).multiply(a + row * a_step, a_step, b.from(p), panels, depth, into,
                                         columns.row(row), c.stride);
      ahead.ask_for_part();
    });
  }
  const dim_t done = whole * PackedRight::kCols;
  if (done == c.cols) return;
  const MatrixF rest = c.middle_cols(done, c.cols - done);
  blocks.for_each([&](dim_t row, dim_t height) {
    multiply_narrow_block<kPacked == Packed::both ? Packed::both : Packed::b>(
        a + row * a_step, a_step, last, depth, into, rest.middle_rows(row, height));
  });
}

// `panels`: the first of B's, `apart` numbers from one to the next.
void multiply_panels(ConstMatrixF a, const float* panels, dim_t apart, Into into, MatrixF c) {
  const float* last = panels + c.cols / PackedRight::kCols * apart;
  multiply_blocks<Packed::b>(a.data, a.stride, {panels, apart}, last, a.cols, into, c);
}

// A by pack_columns. `next`: what is packed after this product.
void multiply_packed(const float* a, const float* panels, dim_t depth, Into into, MatrixF c,
                     ConstMatrixF next) {
  const dim_t apart = depth * PackedRight::kCols;
  const float* last = panels + c.cols / PackedRight::kCols * apart;
  const RowBlocks blocks(c.rows);
  const dim_t together = block_of<Packed::both>(blocks.height()).panels * PackedRight::kCols;
  multiply_blocks<Packed::both>(a, depth, {panels, apart}, last, depth, into, c,
                                Ahead(next, blocks.count() * (c.cols / together)));
}

// B where it lies, except for its last columns, which `last` holds as a panel.
void multiply_unpacked(ConstMatrixF a, ConstMatrixF b, const float* last, Into into, MatrixF c) {
  const Panels panels{b.data, PackedRight::kCols, b.stride};
  multiply_blocks<Packed::none>(a.data, a.stride, panels, last, a.cols, into, c);
}

/// C [kRows, kCols] (+)= A [kRows, depth] B^T, B [kCols, depth]: a sum of products in each lane.
template <int kRows, int kCols>
HWY_NOINLINE void multiply_dots(ConstMatrixF a, ConstMatrixF b, Into into, MatrixF c) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<dim_t>(hn::Lanes(d));
  const dim_t depth = a.cols;
  hn::Vec<decltype(d)> sums[kRows][kCols];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kCols; ++j) sums[i][j] = hn::Zero(d);
  }
  dim_t k = 0;
  for (; k + lanes <= depth; k += lanes) {
    hn::Vec<decltype(d)> x[kRows];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) x[i] = hn::LoadU(d, a.row(i) + k);
#pragma GCC unroll 8
    for (int j = 0; j < kCols; ++j) {
      const auto y = hn::LoadU(d, b.row(j) + k);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) sums[i][j] = hn::MulAdd(x[i], y, sums[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kCols; ++j) {
      float sum = hn::GetLane(hn::SumOfLanes(d, sums[i][j]));
      for (dim_t rest = k; rest < depth; ++rest) sum += a(i, rest) * b(j, rest);
      c(i, j) = into == Into::accumulate ? c(i, j) + sum : sum;
    }
  }
}

// C (+)= A B^T with neither packed.
void multiply_rows(ConstMatrixF a, ConstMatrixF b, Into into, MatrixF c) {
  constexpr int kRows =
      3;  // with four of B's: twelve sums, so that AVX2 has registers for the rest
  constexpr int kCols = 4;
  const auto part = [&](auto function, dim_t row, dim_t rows, dim_t col, dim_t cols) {
    function(a.middle_rows(row, rows), b.middle_rows(col, cols), into,
             c.middle_rows(row, rows).middle_cols(col, cols));
  };
  for (dim_t col = 0; col < c.cols;) {
    const bool wide = col + kCols <= c.cols;
    for (dim_t row = 0; row < c.rows;) {
      const bool tall = row + kRows <= c.rows;
      if (wide && tall) {
        part(multiply_dots<kRows, kCols>, row, kRows, col, kCols);
      } else if (wide) {
        part(multiply_dots<1, kCols>, row, 1, col, kCols);
      } else if (tall) {
        part(multiply_dots<kRows, 1>, row, kRows, col, 1);
      } else {
        part(multiply_dots<1, 1>, row, 1, col, 1);
      }
      row += tall ? kRows : 1;
    }
    col += wide ? kCols : 1;
  }
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

// The columns of A, which are the rows of A^T, in RowBlocks, each packed for Packed::both. Whole vectors are
// written: what lies beyond a block's height is overwritten by its next column.
void pack_columns(ConstMatrixF a, float* packed) {
  constexpr int kReach = kNarrow ? 8 : 16;  // numbers that a copy writes
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

// What is packed at a time. AVX-512: C, which a block waits for, is read less often if pieces are deep,
// and a panel is read from the second-level cache as fast as a block needs it. AVX2, measured with 32 kB of
// first-level cache: what a block meets of B stays in it.
Piece piece_size() {
  return kNarrow ? Piece{.deep = 256, .rows = 96} : Piece{.deep = 512, .rows = 48};
}

}  // namespace dsf::panels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf::panels {
HWY_EXPORT(piece_size);
HWY_EXPORT(multiply_panels);
HWY_EXPORT(pack_rows);
HWY_EXPORT(pack_columns);
HWY_EXPORT(multiply_packed);
HWY_EXPORT(multiply_unpacked);
HWY_EXPORT(multiply_rows);

namespace {

// An operand in f32 as it lies; nothing of one in bf16.
ConstMatrixF plain_numbers(const OperandView& a) {
  if (a.precision != Precision::f32) return {};
  return {static_cast<const float*>(a.data), a.rows, a.cols, a.stride};
}

}  // namespace

// Each piece of B is packed once for all rows of C, and meets a few of A's at a time.
void multiply(Op op_a, const OperandView& a, Op op_b, const OperandView& b, Into into, MatrixF c) {
  const Piece most = HWY_DYNAMIC_DISPATCH(piece_size)();
  thread_local Buffer<float> wide;
  thread_local Buffer<float> blocks;
  thread_local PackedRight right;
  const dim_t k = op_cols(op_a, a);
  for (dim_t begin = 0; begin < k; begin += most.deep) {
    const dim_t deep = std::min(most.deep, k - begin);
    right.reshape(deep, c.cols);
    right.pack(op_b, op_block(op_b, b, begin, deep, 0, c.cols), 0);
    const auto rows_of_a = [&](dim_t row) {
      return op_block(op_a, a, row, std::min(most.rows, c.rows - row), begin, deep);
    };
    for (dim_t row = 0; row < c.rows; row += most.rows) {
      const MatrixF part = c.middle_rows(row, std::min(most.rows, c.rows - row));
      const OperandView left = rows_of_a(row);
      if (op_a == Op::none) {
        right.multiply(left, 0, into, part);
        continue;
      }
      blocks.ensure(part.rows * deep);
      const Factor columns = present(Op::none, left, left.precision == Precision::bf16, wide);
      HWY_DYNAMIC_DISPATCH(pack_columns)(columns.view, blocks.data());
      const dim_t next = row + part.rows;
      HWY_DYNAMIC_DISPATCH(multiply_packed)
      (blocks.data(), right.panels_.data(), deep, into, part,
       next < c.rows ? plain_numbers(rows_of_a(next)) : ConstMatrixF());
    }
    into = Into::accumulate;
  }
}

void multiply_few_rows(Op op_a, const OperandView& a, Op op_b, const OperandView& b, Into into,
                       MatrixF c) {
  thread_local Buffer<float> rows;
  thread_local Buffer<float> last;
  const ConstMatrixF left = present(op_a, a, op_a == Op::transpose, rows).view;
  const ConstMatrixF right = present(op_b, b, false, rows).view;
  if (op_b == Op::transpose) return HWY_DYNAMIC_DISPATCH(multiply_rows)(left, right, into, c);
  const dim_t whole = c.cols / PackedRight::kCols * PackedRight::kCols;
  if (whole < c.cols) {
    last.ensure(right.rows * PackedRight::kCols);
    std::fill_n(last.data(), right.rows * PackedRight::kCols, 0.0F);
    copy_op(Op::none, right.middle_cols(whole, c.cols - whole),
            MatrixF(last.data(), right.rows, c.cols - whole, PackedRight::kCols));
  }
  HWY_DYNAMIC_DISPATCH(multiply_unpacked)(left, right, last.data(), into, c);
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
