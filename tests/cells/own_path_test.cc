// A Jacobian in two parts, J_t = D_t + R_t: what a trial sends back along the own path and what
// rest_product adds are together what backward_step sends back.

#include "dsf/cells/own_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "dsf/cells/cell.h"
#include "tests/reference/recurrent.h"

namespace dsf {
namespace {

using reference::Grid;

struct Case {
  CellKind kind;
  GruReset reset;
  const char* name;
};
void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }

constexpr Case kCells[] = {
    {CellKind::rnn, GruReset::after, "rnn"},
    {CellKind::gru, GruReset::after, "gru_reset_after"},
    {CellKind::gru, GruReset::before, "gru_reset_before"},
    {CellKind::lstm, GruReset::after, "lstm"},
};

// Sequences of unequal length, in more slices than one, of more spans than one.
const PackedLayout kLayout({20, 13, 13, 4, 4, 4, 2, 1, 1});
constexpr dim_t kRowsOfASlice = 8;

// A cell between its forward pass and the way back, with a g for every row.
class CellOnItsWayBack {
 public:
  explicit CellOnItsWayBack(const Case& each)
      : spec_{each.kind, each.reset, 7, 11},
        cell_(make_cell(spec_.kind, spec_.reset, spec_.input, spec_.hidden)) {
    Rng rng(6);
    const dim_t rows = kLayout.total_rows();
    weights_ = reference::cast<float>(reference::random_parameters(spec_, rng));
    x_ = Grid<float>(reference::random_grid(rows, spec_.input, 1.0, rng));
    g_ = Grid<float>(reference::random_grid(rows, spec_.state(), 1.0, rng));
    Grid<float> state(reference::random_grid(kLayout.batch(), spec_.state(), 0.5, rng));
    Grid<float> y(rows, spec_.state());
    cell_->prepare({weights_[0].view(), weights_[1].view(), weights_[2].values.data(),
                    weights_[3].values.data()},
                   Precision::f32, {.all = true, .candidate = true});
    cell_->forward(kLayout, x_.view(), state.view(), tape_, y.view());
    cell_->begin_backward(kLayout, x_.view(), tape_);
  }

  struct Parts {
    Grid<float> own;   ///< g_t D_t at row (t, b)
    Grid<float> rest;  ///< g_t (J_t - D_t) there
  };
  Parts parts(RestPath path) {
    Parts sent = {Grid<float>(g_.rows, g_.cols), Grid<float>(g_.rows, g_.cols)};
    cell_->begin_trials(task_count(kLayout.batch(), kRowsOfASlice), tape_);
    walk_spans_backward(kLayout, kRowsOfASlice, kLayout.steps(), [&](const StepSpan& span) {
      Grid<float> rest(span.rows, g_.cols);
      std::fill(rest.values.begin(), rest.values.end(), 7.0F);  // to be overwritten
      walk_span(kLayout, span, [&](const SpanStep& step) {
        const dim_t begin = kLayout.offset(step.rows.t) + step.rows.begin;
        cell_->own_path_trial(
            kLayout, span, step, path, g_.view().middle_rows(begin, step.rows.count),
            step.rows.t > 0 ? sent.own.view().middle_rows(begin, step.rows.count) : MatrixF(),
            tape_);
      });
      cell_->rest_product(kLayout, span, path, tape_, rest.view());
      walk_span(kLayout, span, [&](const SpanStep& step) {
        const dim_t begin = kLayout.offset(step.rows.t) + step.rows.begin;
        for (dim_t i = 0; i < step.rows.count; ++i) {
          sent.rest.set_row(begin + i, rest.row(step.at + i));
        }
      });
    });
    return sent;
  }

  /// g_t J_t at row (t, b); uses up the tape.
  Grid<float> all() {
    Grid<float> sent(g_.rows, g_.cols);
    for (dim_t t = kLayout.steps() - 1; t >= 0; --t) {
      const StepRows rows{t, 0, kLayout.rows_at(t)};
      Grid<float> g(g_.rows, g_.cols);
      for (dim_t b = 0; b < rows.count; ++b) {
        g.set_row(kLayout.offset(t) + b, g_.row(kLayout.offset(t) + b));
      }
      cell_->backward_step(kLayout, rows, RestPath::all, tape_, g.view());
      for (dim_t b = 0; t > 0 && b < rows.count; ++b) {
        sent.set_row(kLayout.offset(t) + b, g.row(kLayout.offset(t - 1) + b));
      }
    }
    return sent;
  }

 private:
  reference::LayerSpec spec_;
  std::unique_ptr<Cell> cell_;
  reference::Parameters<float> weights_;
  Grid<float> x_;
  Grid<float> g_;
  CellTape tape_;
};

// In double, without the rows of the first step, which send nothing back.
Grid<double> behind_the_first_step(const Grid<float>& grid) {
  Grid<double> later(grid.rows - kLayout.batch(), grid.cols);
  for (dim_t i = 0; i < later.rows; ++i) {
    for (dim_t j = 0; j < later.cols; ++j) {
      later(i, j) = static_cast<double>(grid(kLayout.batch() + i, j));
    }
  }
  return later;
}

class OwnPathAndRest : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Cells, OwnPathAndRest, ::testing::ValuesIn(kCells),
                         [](const auto& suite) { return std::string(suite.param.name); });

// Sums of at most 4 x 11 products in float, and what is taken out of them again.
constexpr double kTolerance = 50 * 6e-8;

TEST_P(OwnPathAndRest, AreTogetherTheWholeJacobian) {
  CellOnItsWayBack cell(GetParam());
  const CellOnItsWayBack::Parts parts = cell.parts(RestPath::all);
  const Grid<double> own = behind_the_first_step(parts.own);
  const Grid<double> rest = behind_the_first_step(parts.rest);
  const Grid<double> all = behind_the_first_step(cell.all());
  Grid<double> sum = own;
  for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += rest.values[i];
  EXPECT_LT(reference::relative_error(sum, all), kTolerance);
  EXPECT_GT(reference::norm(own), 0.01 * reference::norm(all)) << "the own path must matter";
  EXPECT_GT(reference::norm(rest), 0.01 * reference::norm(all)) << "the rest must matter";
}

// The own path does not depend on what is to follow; the candidate is all the rest of the rnn, and
// less than all of it in the others.
TEST_P(OwnPathAndRest, ThroughTheCandidateIsAPartOfTheRestInAllCellsButTheRnn) {
  CellOnItsWayBack cell(GetParam());
  const CellOnItsWayBack::Parts all = cell.parts(RestPath::all);
  const CellOnItsWayBack::Parts candidate = cell.parts(RestPath::candidate);
  EXPECT_EQ(all.own.values, candidate.own.values);
  const bool alike = GetParam().kind == CellKind::rnn;
  EXPECT_EQ(all.rest.values == candidate.rest.values, alike);
  EXPECT_GT(reference::norm(behind_the_first_step(candidate.rest)), 0.0);
}

}  // namespace
}  // namespace dsf
