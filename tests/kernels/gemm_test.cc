#include "dsf/kernels/gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dsf/kernels/gemm_operand.h"
#include "dsf/kernels/gemm_tiles.h"
#include "dsf/kernels/packed_weights.h"
#include "dsf/kernels/parallel.h"
#include "tests/support/random_matrix.h"
#include "tests/support/thread_guard.h"

namespace dsf {
namespace {

using testing::RandomMatrix;
using testing::ThreadGuard;

bool same_bits(ConstMatrixF x, ConstMatrixF y) {
  for (dim_t i = 0; i < x.rows; ++i) {
    const auto bytes = static_cast<std::size_t>(x.cols) * sizeof(float);
    if (std::memcmp(x.row(i), y.row(i), bytes) != 0) return false;
  }
  return true;
}

struct Shape {
  dim_t m, n, k;
};

dim_t stored_rows(Op op, dim_t rows, dim_t cols) { return op == Op::none ? rows : cols; }
dim_t stored_cols(Op op, dim_t rows, dim_t cols) { return op == Op::none ? cols : rows; }

// A product with its operands, its start value of C and the exact answer.
struct Problem {
  Problem(Shape s, Op op_a_, Op op_b_, Precision precision_, Into into_, dim_t margin = 3)
      : shape(s),
        op_a(op_a_),
        op_b(op_b_),
        precision(precision_),
        into(into_),
        a(stored_rows(op_a, s.m, s.k), stored_cols(op_a, s.m, s.k), 1, 1.0, margin),
        b(stored_rows(op_b, s.k, s.n), stored_cols(op_b, s.k, s.n), 2, 1.0, margin),
        c(s.m, s.n, 3, 1.0, margin),
        start(s.m, s.n, 3, 1.0, margin) {
    // NaN * 0 is NaN: shows any reading of C where it is to be overwritten.
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    if (into == Into::accumulate) return;
    for (dim_t i = 0; i < s.m; ++i) std::fill_n(c.view().row(i), s.n, kNaN);
  }

  // Rows of op(X), or of its transpose, one after the other, as the product reads them.
  std::vector<double> rows_of(const RandomMatrix& x, bool transposed) const {
    const ConstMatrixF view = x.view();
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(view.rows * view.cols));
    for (dim_t i = 0; i < (transposed ? view.cols : view.rows); ++i) {
      for (dim_t j = 0; j < (transposed ? view.rows : view.cols); ++j) {
        const float value = transposed ? view(j, i) : view(i, j);
        values.push_back(precision == Precision::bf16 ? to_float(to_bf16(value)) : value);
      }
    }
    return values;
  }

  // Any order of summing k products in f32 errs by at most (k + 1) eps sum |a b|, to first order;
  // the start value of C is one more summand.
  void expect_correct() const {
    const double tolerance =
        static_cast<double>(shape.k + 2) * std::numeric_limits<float>::epsilon();
    const std::vector<double> a_rows = rows_of(a, op_a == Op::transpose);
    const std::vector<double> b_cols = rows_of(b, op_b == Op::none);
    for (dim_t i = 0; i < shape.m; ++i) {
      for (dim_t j = 0; j < shape.n; ++j) {
        double exact = into == Into::accumulate ? start.view()(i, j) : 0.0;
        double magnitude = std::abs(exact);
        const double* a_row = a_rows.data() + i * shape.k;
        const double* b_col = b_cols.data() + j * shape.k;
        for (dim_t p = 0; p < shape.k; ++p) {
          const double product = a_row[p] * b_col[p];
          exact += product;
          magnitude += std::abs(product);
        }
        ASSERT_NEAR(c.view()(i, j), exact, tolerance * magnitude)
            << "C(" << i << ", " << j << ") of " << shape.m << " x " << shape.n << " x " << shape.k;
      }
    }
    EXPECT_TRUE(c.margin_untouched());
  }

  void run() {
    OperandScratch scratch_a;
    OperandScratch scratch_b;
    gemm(op_a, scratch_a(a.view(), precision), op_b, scratch_b(b.view(), precision), into,
         c.view());
  }
  void run_packed() {
    OperandScratch scratch_a;
    PackedWeights weights;
    weights.pack(b.view(), op_b, precision);
    gemm(scratch_a(a.view(), precision), weights, into, c.view());
  }

  Shape shape;
  Op op_a;
  Op op_b;
  Precision precision;
  Into into;
  RandomMatrix a;
  RandomMatrix b;
  RandomMatrix c;
  RandomMatrix start;
};

constexpr Op kOps[] = {Op::none, Op::transpose};
constexpr Precision kPrecisions[] = {Precision::f32, Precision::bf16};
constexpr Into kIntos[] = {Into::overwrite, Into::accumulate};

template <typename Body>
void for_all_modes(Body body) {
  for (const Op op_a : kOps) {
    for (const Op op_b : kOps) {
      for (const Precision precision : kPrecisions) {
        for (const Into into : kIntos) body(op_a, op_b, precision, into);
      }
    }
  }
}

class GemmShapes : public ::testing::TestWithParam<Shape> {};

TEST_P(GemmShapes, EqualsTheExactProduct) {
  for_all_modes([](Op op_a, Op op_b, Precision precision, Into into) {
    Problem problem(GetParam(), op_a, op_b, precision, into);
    problem.run();
    problem.expect_correct();
  });
}

TEST_P(GemmShapes, PackedWeightsEqualTheExactProduct) {
  for_all_modes([](Op op_a, Op op_b, Precision precision, Into into) {
    if (op_a == Op::transpose) return;
    Problem problem(GetParam(), op_a, op_b, precision, into);
    problem.run_packed();
    problem.expect_correct();
  });
}

// Sizes around the tile and vector widths, and the shapes of the layers.
INSTANTIATE_TEST_SUITE_P(Sizes, GemmShapes,
                         ::testing::Values(Shape{1, 1, 1}, Shape{1, 257, 63}, Shape{7, 17, 130},
                                           Shape{17, 7, 1000}, Shape{63, 130, 257},
                                           Shape{130, 63, 17}, Shape{257, 1000, 7},
                                           Shape{1000, 17, 63}, Shape{32, 192, 64},
                                           Shape{130, 270, 1100}, Shape{130, 2100, 33},
                                           Shape{70, 66, 5000}, Shape{16, 32, 32},
                                           Shape{33, 31, 65}, Shape{160, 48, 2048}),
                         [](const auto& test) {
                           return std::to_string(test.param.m) + "x" +
                                  std::to_string(test.param.n) + "x" + std::to_string(test.param.k);
                         });

TEST(GemmThreads, BitsDoNotDependOnTheNumberOfThreads) {
  for (const Shape shape :
       {Shape{300, 700, 200}, Shape{200, 150, 3000}, Shape{32, 768, 256}, Shape{2, 1536, 512}}) {
    for_all_modes([&](Op op_a, Op op_b, Precision precision, Into into) {
      const ThreadGuard alone(1);
      Problem one(shape, op_a, op_b, precision, into);
      one.run();
      for (const int threads : {2, 3}) {
        const ThreadGuard together(threads);
        Problem many(shape, op_a, op_b, precision, into);
        many.run();
        EXPECT_TRUE(same_bits(many.c.view(), one.c.view())) << threads << " threads";
      }
    });
  }
}

// On matrix units the cut into tiles follows the number of threads.
TEST(GemmThreads, BitsOfPackedWeightsDoNotDependOnTheNumberOfThreads) {
  for (const Shape shape : {Shape{1100, 700, 200}, Shape{300, 1100, 1500}, Shape{128, 700, 64}}) {
    for (const Precision precision : kPrecisions) {
      const ThreadGuard alone(1);
      Problem one(shape, Op::none, Op::none, precision, Into::overwrite);
      one.run_packed();
      for (const int threads : {2, 7}) {
        const ThreadGuard together(threads);
        Problem many(shape, Op::none, Op::none, precision, Into::overwrite);
        many.run_packed();
        EXPECT_TRUE(same_bits(many.c.view(), one.c.view())) << threads << " threads";
      }
    }
  }
}

TEST(GemmThreads, BitsAreTheSameInsideATask) {
  const ThreadGuard together(3);
  for (const Shape shape : {Shape{32, 768, 256}, Shape{5, 384, 128}, Shape{300, 700, 200}}) {
    for (const Precision precision : kPrecisions) {
      for (const Into into : kIntos) {
        Problem outside(shape, Op::none, Op::none, precision, into);
        outside.run();
        Problem packed(shape, Op::none, Op::none, precision, into);
        packed.run_packed();
        std::vector<Problem> inside;
        for (int i = 0; i < 4; ++i) inside.emplace_back(shape, Op::none, Op::none, precision, into);
        parallel_for(4, [&](dim_t task) {
          Problem& problem = inside[static_cast<std::size_t>(task)];
          task % 2 == 0 ? problem.run() : problem.run_packed();
        });
        for (std::size_t i = 0; i < inside.size(); ++i) {
          const Problem& expected = i % 2 == 0 ? outside : packed;
          EXPECT_TRUE(same_bits(inside[i].c.view(), expected.c.view()));
        }
      }
    }
  }
}

TEST(Gemm, EmptyInnerDimensionGivesZeroOrNothing) {
  for (const Precision precision : kPrecisions) {
    for (const Into into : kIntos) {
      Problem plain({5, 6, 0}, Op::none, Op::none, precision, into);
      plain.run();
      plain.expect_correct();
      Problem packed({5, 6, 0}, Op::none, Op::none, precision, into);
      packed.run_packed();
      packed.expect_correct();
    }
  }
}

TEST(Gemm, EmptyResultIsLeftAlone) {
  for (const Shape shape : {Shape{0, 4, 3}, Shape{4, 0, 3}}) {
    for (const Precision precision : kPrecisions) {
      Problem problem(shape, Op::none, Op::none, precision, Into::overwrite);
      problem.run();
      problem.run_packed();
      EXPECT_TRUE(problem.c.margin_untouched());
    }
  }
}

TEST(Gemm, ReadsRowSlicesOfALargerProductAlike) {
  // Rows of C do not depend on how many other rows are computed with them, beyond rounding.
  Problem whole({96, 192, 64}, Op::none, Op::none, Precision::f32, Into::overwrite);
  whole.run();
  whole.expect_correct();
  Problem sliced({96, 192, 64}, Op::none, Op::none, Precision::f32, Into::overwrite);
  for (dim_t row = 0; row < 96; row += 32) {
    gemm(Op::none, sliced.a.view().middle_rows(row, 32), Op::none, sliced.b.view(), sliced.into,
         sliced.c.view().middle_rows(row, 32));
  }
  sliced.expect_correct();
}

TEST(PackedWeights, PackingAgainTakesTheNewValuesAndShape) {
  PackedWeights weights;
  for (const Shape shape : {Shape{9, 40, 30}, Shape{9, 20, 50}, Shape{9, 60, 10}}) {
    for (const Precision precision : kPrecisions) {
      Problem problem(shape, Op::none, Op::transpose, precision, Into::overwrite);
      OperandScratch scratch;
      weights.pack(problem.b.view(), problem.op_b, precision);
      gemm(scratch(problem.a.view(), precision), weights, problem.into, problem.c.view());
      problem.expect_correct();
    }
  }
}

TEST(PackedWeights, SurviveAMove) {
  Problem problem({9, 40, 30}, Op::none, Op::none, Precision::bf16, Into::overwrite);
  PackedWeights first;
  first.pack(problem.b.view(), problem.op_b, problem.precision);
  const PackedWeights second = std::move(first);
  OperandScratch scratch;
  gemm(scratch(problem.a.view(), problem.precision), second, problem.into, problem.c.view());
  problem.expect_correct();
}

TEST(CopyOp, GivesTheValuesOfAnyBlock) {
  const RandomMatrix source(37, 41, 5, 1.0, 2);
  OperandScratch scratch;
  for (const Precision precision : kPrecisions) {
    for (const Op op : kOps) {
      const OperandView block = op_block(op, scratch(source.view(), precision), 3, 30, 5, 23);
      ASSERT_EQ(op_rows(op, block), 30);
      ASSERT_EQ(op_cols(op, block), 23);
      RandomMatrix copy(30, 23, 6, 1.0, 4);
      copy_op(op, block, copy.view());
      for (dim_t i = 0; i < 30; ++i) {
        for (dim_t j = 0; j < 23; ++j) {
          const float exact =
              op == Op::none ? source.view()(3 + i, 5 + j) : source.view()(5 + j, 3 + i);
          ASSERT_EQ(copy.view()(i, j),
                    precision == Precision::bf16 ? to_float(to_bf16(exact)) : exact);
        }
      }
      EXPECT_TRUE(copy.margin_untouched());
    }
  }
}

TEST(CopyStride, IsWideEnoughAlignedAndNeverSlow) {
  for (dim_t cols = 1; cols < 5000; ++cols) {
    EXPECT_GE(copy_stride(cols), cols);
    EXPECT_EQ(copy_stride(cols) % 16, 0);
    EXPECT_NE(copy_stride(cols) % 512, 0);  // rows 2 KiB apart share places of the cache
  }
}

TEST(ConvertToBf16, RoundsToNearestEvenAndKeepsSpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto from_bits = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  const std::vector<std::pair<float, std::uint16_t>> cases = {
      {0.0F, 0x0000},
      {-0.0F, 0x8000},
      {1.0F, 0x3F80},
      {from_bits(0x3F808000), 0x3F80},  // halfway, even below
      {from_bits(0x3F818000), 0x3F82},  // halfway, even above
      {from_bits(0x3F808001), 0x3F81},  // just above halfway
      {from_bits(0x3F807FFF), 0x3F80},  // just below halfway
      {inf, 0x7F80},
      {-inf, 0xFF80},
      {std::numeric_limits<float>::max(), 0x7F80},
      {from_bits(0x7F800001), 0x7FC0},  // a NaN whose upper half alone would be infinity
      {from_bits(0xFFC12345), 0xFFC1},
  };
  // Long enough that both the vector body and its tail meet every case.
  constexpr dim_t kRepeats = 5;
  const auto count = static_cast<dim_t>(cases.size());
  Buffer<float> source(count * kRepeats + 1);
  Buffer<bf16_t> target(count * kRepeats + 1);
  for (dim_t i = 0; i < count * kRepeats; ++i) {
    source[i] = cases[static_cast<std::size_t>(i % count)].first;
  }
  convert_to_bf16({source.data(), 1, count * kRepeats + 1}, {target.data(), 1, target.size()});
  for (dim_t i = 0; i < count * kRepeats; ++i) {
    EXPECT_EQ(target[i].bits, cases[static_cast<std::size_t>(i % count)].second) << "element " << i;
  }
}

TEST(ConvertToBf16, HonoursStridesOnManyRows) {
  const RandomMatrix source(700, 130, 4, 1.0, 5);
  Buffer<bf16_t> target(700 * 140);
  const MatrixView<bf16_t> view(target.data(), 700, 130, 140);
  convert_to_bf16(source.view(), view);
  for (dim_t i = 0; i < 700; ++i) {
    for (dim_t j = 0; j < 130; ++j) ASSERT_EQ(view(i, j).bits, to_bf16(source.view()(i, j)).bits);
    for (dim_t j = 130; j < 140; ++j) ASSERT_EQ(target[i * 140 + j].bits, 0);
  }
}

TEST(OperandScratch, FindsWhatIsThereAlready) {
  const RandomMatrix x(9, 13, 6);
  OperandScratch scratch;
  const OperandView first = scratch(x.view(), Precision::bf16);
  const OperandView again = scratch(x.view(), Precision::bf16, true);
  EXPECT_EQ(again.data, first.data);
  EXPECT_EQ(again.stride, first.stride);
  EXPECT_EQ(scratch(x.view(), Precision::f32, true).data, x.view().data);
}

bool covers_once(const TileGrid& grid, bool by_columns = false) {
  std::vector<int> covered(static_cast<std::size_t>(grid.m * grid.n), 0);
  for (dim_t task = 0; task < grid.count(); ++task) {
    const Tile tile = by_columns ? grid.by_columns(task) : grid[task];
    for (dim_t i = tile.row; i < tile.row + tile.rows; ++i) {
      for (dim_t j = tile.col; j < tile.col + tile.cols; ++j) {
        ++covered[static_cast<std::size_t>(i * grid.n + j)];
      }
    }
  }
  return std::all_of(covered.begin(), covered.end(), [](int count) { return count == 1; });
}

TEST(TileGrid, CoversTheResultOnce) {
  for (const dim_t m : {1, 31, 64, 129, 1000}) {
    for (const dim_t n : {1, 100, 513, 2049}) {
      for (const dim_t k : {1, 256, 20000}) {
        EXPECT_TRUE(covers_once(choose_panel_tiles(m, n, k)));
        EXPECT_TRUE(covers_once(choose_packed_grid(m, n, k, 8).tiles));
        EXPECT_TRUE(covers_once(choose_large_tiles(m, n, k, 512, 8), true));
      }
    }
  }
}

TEST(TileGrid, CoversTallAndNarrowResultsOnce) {
  for (const dim_t m : {8, 4097, 32768}) {
    for (const dim_t n : {8, 64, 100}) {
      for (const dim_t k : {8, 64}) EXPECT_TRUE(covers_once(choose_panel_tiles(m, n, k)));
    }
  }
}

TEST(TileGrid, GivesManyThreadsWorkOnTheProductsOfTraining) {
  EXPECT_GE(choose_panel_tiles(1024, 10000, 256).count(), 32);      // head
  EXPECT_GE(choose_panel_tiles(8192, 768, 256).count(), 32);        // input products
  EXPECT_GE(choose_panel_tiles(32768, 64, 64).count(), 32);         // of a narrow model
  EXPECT_EQ(choose_panel_tiles(8, 8, 8).count(), 1);                // not worth a task
  EXPECT_GE(choose_packed_grid(768, 256, 8192, 32).tasks(), 32);    // weight gradients
  EXPECT_GE(choose_packed_grid(10000, 256, 1024, 32).tasks(), 32);  // of the head
}

// As many as there are threads to work on them, and no smaller than that takes.
TEST(TileGrid, LargeTilesFollowTheTasksWanted) {
  EXPECT_EQ(choose_large_tiles(1024, 512, 16000, 512, 1).count(), 2);
  EXPECT_EQ(choose_large_tiles(1024, 512, 16000, 512, 4).count(), 4);
  EXPECT_EQ(choose_large_tiles(1024, 512, 16000, 512, 32).count(), 32);
  EXPECT_EQ(choose_large_tiles(1024, 512, 16000, 512, 1000).count(), 32);  // 128 x 128 at the least
  EXPECT_EQ(choose_large_tiles(256, 256, 16, 512, 1000).count(), 1);       // not worth a task
  EXPECT_EQ(choose_large_tiles(1536, 512, 4096, 1024, 1).rows, 768);       // evenly
}

TEST(TileGrid, LargeTilesDoNotChangeThePartsOfTheDepth) {
  for (const dim_t wanted : {1, 4, 64}) {
    const DepthParts parts = choose_packed_grid(1536, 512, 32768, wanted).parts;
    EXPECT_EQ(parts.count, choose_depth_parts(1536, 512, 32768).count);
    EXPECT_EQ(parts.depth, choose_depth_parts(1536, 512, 32768).depth);
  }
}

TEST(TileGrid, SharesThePanelsOfAStepEvenly) {
  const TileGrid grid = choose_panel_tiles(1, 768, 256);
  ASSERT_EQ(grid.count(), 2);
  EXPECT_EQ(grid[0].cols, grid[1].cols);
}

TEST(DepthParts, CoverTheInnerDimensionWithoutAnEmptyPart) {
  for (const dim_t wanted : {1, 3, 32}) {
    for (const dim_t k : {1, 1023, 2048, 2049, 8191, 100000}) {
      const DepthParts parts = cut_depth(k, wanted);
      EXPECT_GE(parts.depth * parts.count, k);
      EXPECT_LT(parts.depth * (parts.count - 1), k);
      EXPECT_LE(parts.count, std::min(wanted, DepthParts::kMost));
    }
  }
}

}  // namespace
}  // namespace dsf
