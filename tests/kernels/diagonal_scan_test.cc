#include "dsf/kernels/diagonal_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/reference/reference_scan.h"
#include "tests/support/random_matrix.h"
#include "tests/support/thread_guard.h"

namespace dsf {
namespace {

using testing::RandomMatrix;
using testing::reference_scan;
using testing::sequence_column;

constexpr double kUnit = 0.5 * FLT_EPSILON;  // largest relative error of one rounding

// Columns with a = 0, a = 1 and values between, also close to 1; and the negatives of them, which
// learned diagonals have.
std::vector<float> diagonal(dim_t columns) {
  std::vector<float> a;
  Rng rng(17);
  for (dim_t j = 0; j < columns; ++j) {
    const double draw = rng.uniform();
    const double near_one = 1.0 - 0.001 * draw;
    const std::vector<double> kinds = {draw, -1.0, 0.0, near_one, -draw, 1.0, -near_one};
    a.push_back(static_cast<float>(kinds[static_cast<std::size_t>(j) % kinds.size()]));
  }
  return a;
}

PackedLayout layout_of_lengths(const std::vector<dim_t>& lengths) {
  const dim_t steps = *std::max_element(lengths.begin(), lengths.end());
  std::vector<dim_t> rows;
  for (dim_t t = 0; t < steps; ++t) {
    rows.push_back(std::count_if(lengths.begin(), lengths.end(), [&](dim_t l) { return l > t; }));
  }
  return PackedLayout(rows);
}

double norm(const std::vector<double>& x) {
  double sum = 0.0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum);
}

std::vector<double> powers(double a, std::size_t count) {
  std::vector<double> k(count, 1.0);
  for (std::size_t i = 1; i < count; ++i) k[i] = k[i - 1] * a;
  return k;
}

// The largest error a form may make in a sequence with errors e and gradients g; a stands for |a|,
// k = 1, a, a^2, ...
//
// serial   One rounding a step, carried on by a: u sum_s a^(s-t) |g_s| <= u M G with M = max |g|
// and
//          G = sum of k.
// blocked  Besides that: what a chunk of C steps hands back is the difference of two gradients, so
// at
//          most 2 M, summed with C roundings (2 u M G_C, G_C = sum of C terms of k); a^C from
//          squarings is off by C u at most, and C a^C <= G_C (u M G_C); one rounding to join. These
//          4 u M G_C a chunk, carried on by a^C, add up to 4 u M G.
// fft      A stage of a transform multiplies by a root (sqrt(5) u, and u of the root itself) and
// adds
//          (u): 4.3 u relative to what passes through. An output is a sum of paths with factors of
//          modulus 1, so a transform with log2(n) stages is off by 4.3 u log2(n) times the sum of
//          the moduli it sums. With sum |X_k K_k| <= n |e| |k| (Cauchy-Schwarz and Parseval) the
//          three transforms make 13 u log2(n) |e| |k|.
//
// 1 % for products of errors; and each step may flush a number below FLT_MIN.
double tolerance(ScanForm form, double a, const std::vector<double>& e,
                 const std::vector<double>& g, dim_t steps) {
  const std::vector<double> k = powers(std::abs(a), e.size());
  double largest = 0.0;
  for (const double v : g) largest = std::max(largest, std::abs(v));
  double sum = 0.0;
  for (const double v : k) sum += v;
  const double flushed = FLT_MIN * static_cast<double>(e.size());
  if (form == ScanForm::fft) {
    const auto length =
        std::bit_ceil(static_cast<std::uint64_t>(std::max<dim_t>(4, 2 * steps - 1)));
    const double stages = std::log2(static_cast<double>(length));
    // The kernel is as long as the longest sequence.
    return 1.01 * 13.0 * kUnit * stages * norm(e) *
               norm(powers(std::abs(a), static_cast<std::size_t>(steps))) +
           flushed;
  }
  return 1.01 * (form == ScanForm::blocked ? 5.0 : 1.0) * kUnit * largest * sum + flushed;
}

void expect_scan(ScanForm form, const PackedLayout& layout, const std::vector<float>& a,
                 ConstMatrixF e, ConstMatrixF g) {
  for (dim_t b = 0; b < layout.batch(); ++b) {
    for (dim_t j = 0; j < e.cols; ++j) {
      const auto a_j = static_cast<double>(a[static_cast<std::size_t>(j)]);
      const std::vector<double> errors = sequence_column(layout, e, b, j);
      const std::vector<double> expected = reference_scan(a_j, errors);
      const std::vector<double> actual = sequence_column(layout, g, b, j);
      const double allowed = tolerance(form, a_j, errors, expected, layout.steps());
      for (std::size_t t = 0; t < expected.size(); ++t) {
        ASSERT_NEAR(actual[t], expected[t], allowed)
            << "t=" << t << " b=" << b << " j=" << j << " a=" << a_j;
      }
    }
  }
}

// The bounds above are of every element, and grow with the length. Roundings do not all point one
// way: over T steps some sqrt(T) of them are left, 256 units of 6e-8 for 65,536 steps.
void expect_close_in_norm(const PackedLayout& layout, const std::vector<float>& a, ConstMatrixF e,
                          ConstMatrixF g) {
  for (dim_t b = 0; b < layout.batch(); ++b) {
    for (dim_t j = 0; j < e.cols; ++j) {
      const auto a_j = static_cast<double>(a[static_cast<std::size_t>(j)]);
      const std::vector<double> expected = reference_scan(a_j, sequence_column(layout, e, b, j));
      std::vector<double> difference = sequence_column(layout, g, b, j);
      for (std::size_t t = 0; t < expected.size(); ++t) difference[t] -= expected[t];
      EXPECT_LT(norm(difference), 1e-4 * norm(expected)) << "b=" << b << " a=" << a_j;
    }
  }
}

std::vector<float> elements(ConstMatrixF m) {
  std::vector<float> values;
  for (dim_t i = 0; i < m.rows; ++i) values.insert(values.end(), m.row(i), m.row(i) + m.cols);
  return values;
}

std::vector<float> scanned(ScanForm form, const PackedLayout& layout, const std::vector<float>& a,
                           std::uint64_t seed = 1) {
  RandomMatrix g(layout.total_rows(), static_cast<dim_t>(a.size()), seed);
  ScanWorkspace work;
  reverse_scan(form, layout, a, work, g.view());
  return elements(g.view());
}

// Lengths on both sides of multiples of the blocked form's chunks, and single steps.
const std::vector<dim_t> kMixedLengths = {300, 257, 256, 200, 129, 128, 64, 63, 2, 1, 1};

class DiagonalScan : public ::testing::TestWithParam<ScanForm> {};

TEST_P(DiagonalScan, AgreesWithTheDoubleReferenceAtAllLengthsAndWidths) {
  ScanWorkspace work;  // one for all shapes: what a call leaves behind must not matter
  for (const dim_t steps : {1, 2, 63, 64, 65, 1000}) {
    for (const dim_t columns : {1, 3, 17, 256}) {
      SCOPED_TRACE("T=" + std::to_string(steps) + " S=" + std::to_string(columns));
      const PackedLayout layout = PackedLayout::uniform(steps, 2);
      const std::vector<float> a = diagonal(columns);
      const RandomMatrix e(layout.total_rows(), columns, 3);
      RandomMatrix g(layout.total_rows(), columns, 3);
      reverse_scan(GetParam(), layout, a, work, g.view());
      expect_scan(GetParam(), layout, a, e.view(), g.view());
    }
  }
}

TEST_P(DiagonalScan, AgreesWithTheDoubleReferenceOverLongSequences) {
  const PackedLayout layout = PackedLayout::uniform(65536, 1);
  const std::vector<float> a = {0.5F, 1.0F, 0.9999F, -0.5F, -1.0F, -0.9999F};
  const auto columns = static_cast<dim_t>(a.size());
  const RandomMatrix e(layout.total_rows(), columns, 5);
  RandomMatrix g(layout.total_rows(), columns, 5);
  ScanWorkspace work;
  reverse_scan(GetParam(), layout, a, work, g.view());
  expect_scan(GetParam(), layout, a, e.view(), g.view());
  expect_close_in_norm(layout, a, e.view(), g.view());
}

TEST_P(DiagonalScan, HandlesPackedSequencesInStridedRows) {
  const PackedLayout layout = layout_of_lengths(kMixedLengths);
  const std::vector<float> a = diagonal(17);
  const RandomMatrix e(layout.total_rows(), 17, 7, 1.0, 5);
  RandomMatrix g(layout.total_rows(), 17, 7, 1.0, 5);
  ScanWorkspace work;
  reverse_scan(GetParam(), layout, a, work, g.view());
  expect_scan(GetParam(), layout, a, e.view(), g.view());
  EXPECT_TRUE(g.margin_untouched());
}

TEST_P(DiagonalScan, SplitsWideAndTallStepsWithoutGaps) {
  // Wider than one task's columns, and more rows than tasks are wanted.
  for (const auto& [batch, columns] : std::vector<std::pair<dim_t, dim_t>>{{3, 2500}, {70, 40}}) {
    const PackedLayout layout = PackedLayout::uniform(70, batch);
    const std::vector<float> a = diagonal(columns);
    const RandomMatrix e(layout.total_rows(), columns, 9);
    RandomMatrix g(layout.total_rows(), columns, 9);
    ScanWorkspace work;
    reverse_scan(GetParam(), layout, a, work, g.view());
    expect_scan(GetParam(), layout, a, e.view(), g.view());
  }
}

TEST_P(DiagonalScan, ZeroDiagonalKeepsTheErrorsToTheBit) {
  const PackedLayout layout = layout_of_lengths(kMixedLengths);
  const RandomMatrix e(layout.total_rows(), 33, 11);
  EXPECT_EQ(scanned(GetParam(), layout, std::vector<float>(33, 0.0F), 11), elements(e.view()));
}

TEST_P(DiagonalScan, DoesNotMixSequencesOrColumns) {
  const PackedLayout layout = layout_of_lengths({150, 150, 100});
  const std::vector<float> a(5, 0.75F);
  RandomMatrix clean(layout.total_rows(), 5, 13);
  RandomMatrix marked(layout.total_rows(), 5, 13);
  marked.view()(layout.offset(99) + 1, 2) = std::numeric_limits<float>::quiet_NaN();
  ScanWorkspace work;
  reverse_scan(GetParam(), layout, a, work, clean.view());
  reverse_scan(GetParam(), layout, a, work, marked.view());
  EXPECT_TRUE(std::isnan(marked.view()(1, 2)));
  for (dim_t t = 0; t < layout.steps(); ++t) {
    for (dim_t b = 0; b < layout.rows_at(t); ++b) {
      for (dim_t j = 0; j < 5; ++j) {
        if (b == 1 && j == 2) continue;
        ASSERT_EQ(marked.view()(layout.offset(t) + b, j), clean.view()(layout.offset(t) + b, j));
      }
    }
  }
}

TEST_P(DiagonalScan, DoesNotDependOnTheNumberOfThreads) {
  for (const PackedLayout& layout :
       {layout_of_lengths(kMixedLengths), PackedLayout::uniform(700, 1)}) {
    EXPECT_TRUE(testing::same_with_any_thread_count(
        [&] { return scanned(GetParam(), layout, diagonal(200)); }));
  }
}

TEST_P(DiagonalScan, AcceptsAnEmptyBatch) {
  ScanWorkspace work;
  std::vector<float> beyond(3, 1.0F);
  reverse_scan(GetParam(), PackedLayout(), diagonal(3), work, MatrixF(beyond.data(), 0, 3));
  EXPECT_EQ(beyond, std::vector<float>(3, 1.0F));
  EXPECT_TRUE(work.carries.empty());
  EXPECT_TRUE(work.handed_over.empty());
  EXPECT_TRUE(work.spectra.empty());
}

std::string form_name(const ::testing::TestParamInfo<ScanForm>& form) {
  switch (form.param) {
    case ScanForm::serial:
      return "Serial";
    case ScanForm::blocked:
      return "Blocked";
    case ScanForm::fft:
      return "Fft";
    default:
      return "Automatic";
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, DiagonalScan,
                         ::testing::Values(ScanForm::serial, ScanForm::blocked, ScanForm::fft),
                         form_name);

// Different bits of the forms are what lets these two tests see which one ran.
TEST(DiagonalScanAutomatic, WalksSeriallyWhereAStepIsLarge) {
  const PackedLayout layout = PackedLayout::uniform(1000, 64);
  const std::vector<float> a = diagonal(256);
  const std::vector<float> automatic = scanned(ScanForm::automatic, layout, a);
  EXPECT_EQ(automatic, scanned(ScanForm::serial, layout, a));
  EXPECT_NE(automatic, scanned(ScanForm::blocked, layout, a));
}

TEST(DiagonalScanAutomatic, CutsTimeWhereAStepIsSmallAndTheSequenceLong) {
  const PackedLayout layout = PackedLayout::uniform(1000, 1);
  const std::vector<float> a = diagonal(16);
  const std::vector<float> automatic = scanned(ScanForm::automatic, layout, a);
  EXPECT_EQ(automatic, scanned(ScanForm::blocked, layout, a));
  EXPECT_NE(automatic, scanned(ScanForm::serial, layout, a));
}

}  // namespace
}  // namespace dsf
