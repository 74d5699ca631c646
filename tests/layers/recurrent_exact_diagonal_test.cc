// If a cell's Jacobian really is a constant diagonal, DSF with that diagonal is BPTT.

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <vector>

#include "tests/layers/recurrent_fixture.h"
#include "tests/support/layouts.h"

namespace dsf {
namespace {

using reference::Grid;
using reference::Parameters;
using reference::Stack;
using testing::feedback_of;

const PackedLayout kLayout({35, 34, 34, 12, 3, 3, 1});
constexpr dim_t kHidden = 11;

// The two differ by rounding: the diagonal is rounded to float once, and the steps are summed in
// another order.
constexpr double kTolerance = 50 * 6e-8;

void expect_dsf_equals_bptt(const Stack& stack) {
  const auto bptt = testing::run_fast(stack, feedback_of("bptt")).gradients;
  const auto ft = testing::run_fast(stack, feedback_of("ft")).gradients;
  for (const char* scan : {"fused", "serial", "blocked", "fft"}) {
    SCOPED_TRACE(scan);
    const auto dsf = testing::run_fast(stack, feedback_of("dsf", scan)).gradients;
    for (std::size_t k = 0; k < 4; ++k) {
      SCOPED_TRACE(reference::kParameterNames[k]);
      EXPECT_LT(reference::relative_error(dsf.parameters[0][k], bptt.parameters[0][k]), kTolerance);
      EXPECT_GT(reference::relative_error(ft.parameters[0][k], bptt.parameters[0][k]), 1e-2)
          << "the way through time must matter here";
    }
    EXPECT_LT(reference::relative_error(dsf.dx, bptt.dx), kTolerance);
  }
}

void set_rows(Grid<double>& grid, dim_t begin, dim_t count, double value) {
  for (dim_t i = begin; i < begin + count; ++i) {
    for (dim_t j = 0; j < grid.cols; ++j) grid(i, j) = value;
  }
}

void clear(Grid<double>& grid) { set_rows(grid, 0, grid.rows, 0.0); }

// W = 0, b = 0 and a zero initial state keep h at 0, where tanh has slope 1: J = U = diag(a).
TEST(ExactDiagonal, RnnAtRestWithDiagonalU) {
  Stack s = reference::random_stack(CellKind::rnn, GruReset::after, 1, kHidden, kLayout, 21);
  for (Grid<double>& grid : s.parameters[0]) clear(grid);
  clear(s.initial[0]);
  for (dim_t j = 0; j < kHidden; ++j) {
    s.parameters[0][1](j, j) = s.diagonals[0][static_cast<std::size_t>(j)];
  }
  const auto bptt = testing::run_fast(s, feedback_of("bptt")).gradients;
  const auto dsf = testing::run_fast(s, feedback_of("dsf")).gradients;
  const auto ft = testing::run_fast(s, feedback_of("ft")).gradients;
  for (const std::size_t k : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
    EXPECT_LT(reference::relative_error(dsf.parameters[0][k], bptt.parameters[0][k]), kTolerance);
    EXPECT_GT(reference::relative_error(ft.parameters[0][k], bptt.parameters[0][k]), 1e-2);
  }
}

// U = 0 leaves h = (1 - z) n + z h_{t-1} with n free of h_{t-1}; W_z = 0 makes z = sigmoid(b) a
// constant: J = diag(z).
class ExactDiagonalGru : public ::testing::TestWithParam<GruReset> {};
INSTANTIATE_TEST_SUITE_P(Resets, ExactDiagonalGru,
                         ::testing::Values(GruReset::after, GruReset::before));

Stack constant_update_gate(GruReset reset, const PackedLayout& layout) {
  Stack s = reference::random_stack(CellKind::gru, reset, 1, kHidden, layout, 22);
  auto& [W, U, b_ih, b_hh] = s.parameters[0];
  clear(U);
  set_rows(W, kHidden, kHidden, 0.0);  // z is the second gate
  for (dim_t j = 0; j < kHidden; ++j) {
    const double b = 3.0 * b_ih(0, kHidden + j) + 1.0;
    b_ih(0, kHidden + j) = static_cast<double>(static_cast<float>(b));
    s.diagonals[0][static_cast<std::size_t>(j)] =
        reference::sigmoid(b_ih(0, kHidden + j) + b_hh(0, kHidden + j));
  }
  return s;
}

TEST_P(ExactDiagonalGru, ConstantUpdateGateWithoutU) {
  // Long ones too: the blocked form is the serial one up to 32 steps.
  for (const PackedLayout& layout : {kLayout, long_ragged_layout(), PackedLayout::uniform(70, 2)}) {
    expect_dsf_equals_bptt(constant_update_gate(GetParam(), layout));
  }
}

// U = 0 and W_f = 0: dc_t/dc_{t-1} = f = sigmoid(b), dc_t/dh_{t-1} = 0. What is left of the
// Jacobian beside diag(0, f) is dh_t/dc_{t-1} = o (1 - tanh^2 c) f.
Stack constant_forget_gate() {
  Stack s = reference::random_stack(CellKind::lstm, GruReset::after, 1, kHidden, kLayout, 23);
  auto& [W, U, b_ih, b_hh] = s.parameters[0];
  clear(U);
  set_rows(W, kHidden, kHidden, 0.0);  // f is the second gate
  for (dim_t j = 0; j < kHidden; ++j) {
    s.diagonals[0][static_cast<std::size_t>(j)] = 0.0;
    s.diagonals[0][static_cast<std::size_t>(kHidden + j)] =
        reference::sigmoid(b_ih(0, kHidden + j) + b_hh(0, kHidden + j));
  }
  return s;
}

// It vanishes with the output gate: o = sigmoid(-200) is zero in float. The gradients of U, which
// multiply h = 0 except in the initial state, are compared only through the others.
TEST(ExactDiagonal, LstmWithClosedOutputGate) {
  Stack s = constant_forget_gate();
  auto& [W, U, b_ih, b_hh] = s.parameters[0];
  set_rows(W, 3 * kHidden, kHidden, 0.0);  // o is the fourth gate
  for (dim_t j = 3 * kHidden; j < 4 * kHidden; ++j) b_ih(0, j) = -200.0;
  const auto bptt = testing::run_fast(s, feedback_of("bptt")).gradients;
  const auto dsf = testing::run_fast(s, feedback_of("dsf")).gradients;
  const auto ft = testing::run_fast(s, feedback_of("ft")).gradients;
  for (const std::size_t k : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
    EXPECT_LT(reference::relative_error(dsf.parameters[0][k], bptt.parameters[0][k]), kTolerance);
    EXPECT_GT(reference::relative_error(ft.parameters[0][k], bptt.parameters[0][k]), 1e-2);
  }
}

// And it does not matter as long as no error reaches h: M reads c alone.
TEST(ExactDiagonal, LstmWhoseErrorsReachTheCellAlone) {
  Stack s = constant_forget_gate();
  for (dim_t j = 0; j < kHidden; ++j) {
    for (dim_t k = 0; k < kHidden; ++k) s.maps[0](j, k) = 0.0;
  }
  expect_dsf_equals_bptt(s);
}

Stack with_diagonal_recurrence(const testing::CellCase& cell) {
  Stack s = reference::random_stack(cell.kind, cell.reset, 1, kHidden, kLayout, 24);
  Grid<double>& U = s.parameters[0][1];
  for (dim_t i = 0; i < U.rows; ++i) {
    for (dim_t j = 0; j < U.cols; ++j) U(i, j) = i % kHidden == j ? 3.0 * U(i, j) : 0.0;
  }
  return s;
}

void expect_equals_bptt(const Stack& s, const char* method) {
  const auto bptt = testing::run_fast(s, feedback_of("bptt")).gradients;
  const auto ft = testing::run_fast(s, feedback_of("ft")).gradients;
  const auto gated = testing::run_fast(s, feedback_of(method)).gradients;
  for (std::size_t k = 0; k < 4; ++k) {
    SCOPED_TRACE(reference::kParameterNames[k]);
    EXPECT_LT(reference::relative_error(gated.parameters[0][k], bptt.parameters[0][k]), kTolerance);
    EXPECT_GT(reference::relative_error(ft.parameters[0][k], bptt.parameters[0][k]), 1e-2);
  }
  EXPECT_LT(reference::relative_error(gated.dx, bptt.dx), kTolerance);
}

// With a diagonal U no unit of the rnn acts on another: J is its diagonal part.
TEST(ExactDiagonal, GatedIsBpttOfAnRnnWhoseUIsDiagonal) {
  expect_equals_bptt(with_diagonal_recurrence(testing::kAllCells[0]), "gated");
}

std::vector<testing::CellCase> cells_whose_gates_have_a_diagonal() {
  std::vector<testing::CellCase> cells(std::begin(testing::kAllCells),
                                       std::end(testing::kAllCells));
  std::erase_if(cells, [](const auto& cell) { return cell.kind == CellKind::rnn; });
  return cells;
}

// Without U all that is left of J is the diagonal that the gates have; the rnn has none.
class ExactGates : public ::testing::TestWithParam<testing::CellCase> {};
INSTANTIATE_TEST_SUITE_P(Cells, ExactGates,
                         ::testing::ValuesIn(cells_whose_gates_have_a_diagonal()),
                         [](const auto& suite) { return std::string(suite.param.name); });

TEST_P(ExactGates, GatedIsBpttWithoutU) {
  Stack s = with_diagonal_recurrence(GetParam());
  clear(s.parameters[0][1]);
  expect_equals_bptt(s, "gated");
}

// The diagonal part does not hold the way through a unit's own recurrent weights.
TEST_P(ExactGates, GatedIsNotBpttWhereUIsDiagonal) {
  const Stack s = with_diagonal_recurrence(GetParam());
  const auto bptt = testing::run_fast(s, feedback_of("bptt")).gradients;
  const auto gated = testing::run_fast(s, feedback_of("gated")).gradients;
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_GT(reference::relative_error(gated.parameters[0][k], bptt.parameters[0][k]), 1e-3)
        << reference::kParameterNames[k];
  }
  EXPECT_GT(reference::relative_error(gated.dx, bptt.dx), 1e-3);
}

}  // namespace
}  // namespace dsf
