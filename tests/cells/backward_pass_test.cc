// The way back through one batch: what the walks carry, what local_backward does, and that the
// Jacobian's diagonal and off-diagonal part are together the Jacobian, J_t = D_t + R_t.

#include "dsf/cells/backward_pass.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "dsf/base/error.h"
#include "tests/reference/cell_problem.h"
#include "tests/support/layouts.h"
#include "tests/support/message_of.h"
#include "tests/support/thread_guard.h"

namespace dsf {
namespace {

using reference::CellCase;
using reference::CellProblem;
using reference::FastCell;
using reference::Grid;
using Result = FastCell::Result;

struct LayoutCase {
  const char* name;
  std::vector<dim_t> rows;
};
void PrintTo(const LayoutCase& layout, std::ostream* out) { *out << layout.name; }

// Of 40 sequences the walk by products has two slices, and the elementwise one five; of five, one
// and five.
const LayoutCase kLayouts[] = {
    {"lengths_that_differ", {40, 37, 37, 33, 32, 9, 4, 4, 1}},
    {"equal_lengths_in_slices", std::vector<dim_t>(4, 40)},
    {"few_sequences", {5, 5, 3, 1, 1}},
    {"one_sequence", std::vector<dim_t>(7, 1)},
    {"one_step", {11}},
};

constexpr dim_t kHidden = 11;

class BackwardPassOf : public ::testing::TestWithParam<std::tuple<CellCase, LayoutCase>> {
 protected:
  CellProblem problem_{std::get<0>(GetParam()), kHidden,
                       PackedLayout(std::get<1>(GetParam()).rows)};
  FastCell cell_{problem_, {.needed = true}};

  Grid<double> slow(reference::Method method) const { return slow_total(method).g; }
  reference::TotalGradients slow_total(reference::Method method) const {
    reference::Carry carry;
    carry.method = method;
    return reference::total_gradients(problem_.slow(), problem_.e, carry);
  }
};
INSTANTIATE_TEST_SUITE_P(Cells, BackwardPassOf,
                         ::testing::Combine(::testing::ValuesIn(reference::kAllCells),
                                            ::testing::ValuesIn(kLayouts)),
                         [](const auto& suite) {
                           return std::string(std::get<0>(suite.param).name) + "_" +
                                  std::get<1>(suite.param).name;
                         });

// Rounding of float (6e-8) in the gates of at most nine steps and in sums of at most 4 x 11 products.
constexpr double kTolerance = 50 * 6e-8;

void expect_close(const Grid<float>& fast, const Grid<double>& slow) {
  EXPECT_LT(reference::relative_error(Grid<double>(fast), slow), kTolerance);
}

void walk_jacobian(BackwardPass& pass) { pass.walk_jacobian(); }
void walk_diagonal(BackwardPass& pass) { pass.walk_diagonal(); }
void local_backward(BackwardPass& pass) { pass.local_backward(); }

TEST_P(BackwardPassOf, WalkJacobianCarriesTheWholeJacobian) {
  const Result result = cell_.back(walk_jacobian);
  const auto slow = slow_total(reference::Method::bptt);
  expect_close(result.g, slow.g);
  expect_close(result.initial, slow.initial);
}

TEST_P(BackwardPassOf, WalkDiagonalCarriesTheDiagonalPart) {
  const Result result = cell_.back(walk_diagonal);
  const auto slow = slow_total(reference::Method::gated);
  expect_close(result.g, slow.g);
  expect_close(result.initial, slow.initial);
}

TEST_P(BackwardPassOf, LocalBackwardLeavesTheGradientsAlone) {
  const Result result = cell_.back(local_backward);
  EXPECT_EQ(result.g.values, Grid<float>(problem_.e).values);
  EXPECT_EQ(result.initial.values, std::vector<float>(result.initial.values.size(), 0.0F));
}

void add(ConstMatrixF from, MatrixF to) {
  for (dim_t i = 0; i < from.rows; ++i) {
    for (dim_t j = 0; j < from.cols; ++j) to(i, j) += from(i, j);
  }
}

TEST_P(BackwardPassOf, WalkWithoutACarryIsLocalBackwardToTheBit) {
  const Result local = cell_.back(local_backward);
  const Result walked =
      cell_.back([](BackwardPass& pass) { pass.walk([](ConstMatrixF, MatrixF) {}); });
  EXPECT_EQ(walked.g.values, local.g.values);
  EXPECT_EQ(walked.d, local.d);
}

TEST_P(BackwardPassOf, WalkCarriesWhatItIsTold) {
  const Result walked = cell_.back([](BackwardPass& pass) { pass.walk(add); });
  reference::Carry all;
  all.method = reference::Method::dsf;
  all.a.assign(static_cast<std::size_t>(problem_.spec.state()), 1.0);
  const auto slow = reference::total_gradients(problem_.slow(), problem_.e, all);
  expect_close(walked.g, slow.g);
  expect_close(walked.initial, slow.initial);
}

// A carry that adds what it is handed, and nothing else: the same numbers by another sum.
TEST_P(BackwardPassOf, TheDiagonalThatACarryIsHandedIsTheOneOfWalkDiagonal) {
  const Result direct = cell_.back(walk_diagonal);
  const Result handed = cell_.back([](BackwardPass& pass) {
    pass.walk_diagonal(
        [](ConstMatrixF, ConstMatrixF diagonal, MatrixF g_previous) { add(diagonal, g_previous); });
  });
  expect_close(handed.g, Grid<double>(direct.g));
  expect_close(handed.initial, Grid<double>(direct.initial));
}

// Each walk does the local backward of every row once, with the g that it leaves there.
TEST_P(BackwardPassOf, EveryWalkDoesTheLocalBackwardOfItsGradients) {
  const auto joined = [](BackwardPass& pass) {
    pass.walk_diagonal([](ConstMatrixF g, ConstMatrixF diagonal, MatrixF g_previous) {
      add(g, g_previous);
      add(diagonal, g_previous);
    });
  };
  const std::vector<std::function<void(BackwardPass&)>> walks = {
      walk_jacobian, walk_diagonal, joined, [](BackwardPass& pass) { pass.walk(add); }};
  for (const auto& walk : walks) {
    const Result walked = cell_.back(walk);
    const Result local = cell_.back_from(walked.g, local_backward);
    Grid<double> expected(1, static_cast<dim_t>(local.d.size()));
    Grid<double> actual = expected;
    expected.values.assign(local.d.begin(), local.d.end());
    actual.values.assign(walked.d.begin(), walked.d.end());
    // To the bit, except the product d_n U_n of the GRU that resets before: slices have other shapes.
    EXPECT_LT(reference::relative_error(actual, expected), kTolerance);
  }
}

// walk_jacobian from one step alone sends g_t J_t to the step before it; trial_walk says which part
// of that leaves the diagonal, and sends the other part itself.
TEST_P(BackwardPassOf, DiagonalAndOffDiagonalPartAreTogetherTheJacobian) {
  const PackedLayout& layout = problem_.layout;
  const dim_t S = problem_.spec.state();
  double off_diagonal_norm = 0.0;
  double diagonal_norm = 0.0;
  for (dim_t t = 1; t < layout.steps(); ++t) {
    const dim_t n = layout.rows_at(t);
    Grid<float> errors(layout.total_rows(), S);
    for (dim_t b = 0; b < n; ++b) {
      for (dim_t j = 0; j < S; ++j) {
        errors(layout.offset(t) + b, j) = static_cast<float>(problem_.e(layout.offset(t) + b, j));
      }
    }
    Grid<float> guess = errors;
    Grid<float> off_diagonal(layout.total_rows(), S);
    std::fill(off_diagonal.values.begin(), off_diagonal.values.end(), 7.0F);  // to be overwritten
    const Result whole = cell_.back_from(errors, [&](BackwardPass& pass) {
      pass.trial_walk(guess.view(), off_diagonal.view());
      pass.walk_jacobian();
    });
    Grid<double> sent(n, S);
    Grid<double> diagonal(n, S);
    Grid<double> both(n, S);
    for (dim_t b = 0; b < n; ++b) {
      for (dim_t j = 0; j < S; ++j) {
        sent(b, j) = static_cast<double>(whole.g(layout.offset(t - 1) + b, j));
        diagonal(b, j) = static_cast<double>(guess(layout.offset(t - 1) + b, j));
        both(b, j) = static_cast<double>(off_diagonal(layout.offset(t) + b, j));
      }
    }
    diagonal_norm += reference::norm(diagonal);
    off_diagonal_norm += reference::norm(both);  // so far, the off-diagonal part alone
    for (std::size_t i = 0; i < both.values.size(); ++i) both.values[i] += diagonal.values[i];
    EXPECT_LT(reference::relative_error(both, sent), kTolerance) << t;
  }
  if (layout.steps() == 1) return;
  EXPECT_GT(diagonal_norm, 0.01 * off_diagonal_norm) << "the diagonal part must matter";
  EXPECT_GT(off_diagonal_norm, 0.01 * diagonal_norm) << "the off-diagonal part must matter";
}

// As often as needed: it changes nothing of what the last act reads.
TEST_P(BackwardPassOf, TrialWalksLeaveNoTrace) {
  Grid<float> first(problem_.layout.total_rows(), problem_.spec.state());
  Grid<float> second = first;
  const Result with = cell_.back([&](BackwardPass& pass) {
    for (Grid<float>* off_diagonal : {&first, &second}) {
      Grid<float> guess(problem_.e);
      pass.trial_walk(guess.view(), off_diagonal->view());
    }
    pass.walk_jacobian();
  });
  const Result without = cell_.back(walk_jacobian);
  EXPECT_EQ(first.values, second.values);
  EXPECT_EQ(with.g.values, without.g.values);
  EXPECT_EQ(with.initial.values, without.initial.values);
  EXPECT_EQ(with.d, without.d);
}

TEST_P(BackwardPassOf, ThreadsDoNotChangeABit) {
  EXPECT_TRUE(testing::same_with_any_thread_count([&] {
    std::vector<float> all;
    for (const auto& walk : {walk_jacobian, walk_diagonal, local_backward}) {
      const Result result = cell_.back(walk);
      all.insert(all.end(), result.g.values.begin(), result.g.values.end());
      all.insert(all.end(), result.initial.values.begin(), result.initial.values.end());
      all.insert(all.end(), result.d.begin(), result.d.end());
    }
    return all;
  }));
}

// Nobody asks for the gradient of the initial states: the others are the same without it.
TEST_P(BackwardPassOf, GradientOfTheInitialStatesIsOptional) {
  for (const auto& walk : {walk_jacobian, walk_diagonal}) {
    const Result with = cell_.back(walk);
    cell_.forward();
    Grid<float> g(problem_.e);
    BackwardPass pass(cell_.cell(), problem_.layout, cell_.x(), cell_.tape(), cell_.work(),
                      g.view(), {});
    walk(pass);
    EXPECT_EQ(g.values, with.g.values);
  }
}

class BackwardPassMisused : public ::testing::TestWithParam<CellCase> {};
INSTANTIATE_TEST_SUITE_P(Cells, BackwardPassMisused, ::testing::ValuesIn(reference::kAllCells),
                         [](const auto& suite) { return std::string(suite.param.name); });

TEST_P(BackwardPassMisused, NeedsTheTapeOfTheSameBatch) {
  const CellProblem problem(GetParam(), kHidden, PackedLayout({3, 2}));
  FastCell cell(problem, {});
  Grid<float> g(6, problem.spec.state());
  const auto begin = [&](const PackedLayout& layout) {
    BackwardPass pass(cell.cell(), layout, cell.x(), cell.tape(), cell.work(), g.view(), {});
  };
  const auto expect_refused = [&](const PackedLayout& layout) {
    EXPECT_NE(message_of<Error>([&] { begin(layout); }).find("tape of another batch"),
              std::string::npos);
  };
  expect_refused(problem.layout);
  cell.forward();
  expect_refused(PackedLayout({3, 3}));
  EXPECT_NO_THROW(begin(problem.layout));
}

}  // namespace
}  // namespace dsf
