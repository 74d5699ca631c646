#pragma once

// Feedbacks alone, on a cell made up for the test: state s, Jacobian a fixed full matrix, and a
// local backward that only writes down the g it was given.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsf/base/rng.h"
#include "dsf/cells/slices.h"
#include "dsf/feedback/feedback.h"
#include "tests/reference/grid.h"

namespace dsf {

using reference::Grid;

inline FeedbackConfig config_of(const std::string& method, const std::string& scan = "auto") {
  FeedbackConfig config;
  config.method = method;
  config.scan = scan;
  return config;
}

class RecordingCell final : public BackwardAccess {
 public:
  RecordingCell(const PackedLayout& layout, const Grid<float>& jacobian)
      : layout_(layout),
        jacobian_(jacobian),
        seen(layout.total_rows(), jacobian.rows),
        visits(static_cast<std::size_t>(layout.total_rows())) {}

  void local_backward_all(ConstMatrixF g) override {
    for (dim_t i = 0; i < layout_.total_rows(); ++i) record(i, g);
    ++finished;
  }
  void local_backward(StepRows rows, ConstMatrixF g) override {
    for (dim_t b = rows.begin; b < rows.begin + rows.count; ++b) {
      record(layout_.offset(rows.t) + b, g);
    }
  }
  void finish_local_backward() override { ++finished; }
  void backward_step(StepRows rows, RestPath /*path*/, MatrixF g) override {
    EXPECT_EQ(slice_of(rows.begin), slice_of(rows.begin + rows.count - 1));
    local_backward(rows, g);
    if (rows.t == 0) return;
    for (dim_t b = rows.begin; b < rows.begin + rows.count; ++b) {
      for (dim_t i = 0; i < jacobian_.rows; ++i) {
        for (dim_t j = 0; j < jacobian_.cols; ++j) {
          g(layout_.offset(rows.t - 1) + b, j) +=
              g(layout_.offset(rows.t) + b, i) * jacobian_(i, j);
        }
      }
    }
  }
  // Both own paths are the Jacobian's diagonal here.
  void own_path_step(StepRows rows, OwnPath /*path*/, MatrixF g) override {
    local_backward(rows, g);
    if (rows.t == 0) return;
    for (dim_t b = rows.begin; b < rows.begin + rows.count; ++b) {
      for (dim_t j = 0; j < g.cols; ++j) {
        g(layout_.offset(rows.t - 1) + b, j) += g(layout_.offset(rows.t) + b, j) * jacobian_(j, j);
      }
    }
  }
  void begin_trials(dim_t slots) override {
    trial = Grid<float>(slots * kSpanRows, jacobian_.rows);
  }
  void own_path_trial(const StepSpan& span, const SpanStep& step, RestPath /*path*/, ConstMatrixF g,
                      MatrixF g_previous) override {
    EXPECT_EQ(g_previous.empty(), step.rows.t == 0);
    for (dim_t i = 0; i < step.rows.count; ++i) {
      const dim_t row = layout_.offset(step.rows.t) + step.rows.begin + i;
      EXPECT_EQ(visits[static_cast<std::size_t>(row)], 0) << "after its local backward";
      for (dim_t j = 0; j < g.cols; ++j) {
        trial(span.slot * kSpanRows + step.at + i, j) = g(i, j);
        if (step.rows.t > 0) g_previous(i, j) += g(i, j) * jacobian_(j, j);
      }
    }
  }
  void rest_product(const StepSpan& span, RestPath /*path*/, MatrixF rest) override {
    EXPECT_EQ(rest.rows, span.rows);
    for (dim_t row = 0; row < span.rows; ++row) {
      const dim_t from = span.slot * kSpanRows + row;
      for (dim_t j = 0; j < jacobian_.cols; ++j) {
        rest(row, j) = -trial(from, j) * jacobian_(j, j);
        for (dim_t i = 0; i < jacobian_.rows; ++i) rest(row, j) += trial(from, i) * jacobian_(i, j);
      }
    }
  }

 private:
  void record(dim_t row, ConstMatrixF g) {
    for (dim_t j = 0; j < g.cols; ++j) seen(row, j) = g(row, j);
    ++visits[static_cast<std::size_t>(row)];
  }

  const PackedLayout& layout_;
  const Grid<float>& jacobian_;

 public:
  Grid<float> seen;         ///< g of each row, at the time of its local backward
  std::vector<int> visits;  ///< local backwards of each row
  int finished = 0;
  Grid<float> trial;  ///< g of the spans on trial, slot after slot
};

inline constexpr dim_t kState = 13;
inline const PackedLayout kLayout({70, 70, 41, 33, 9, 9, 1});

struct Problem {
  explicit Problem(const PackedLayout& batch = kLayout) : layout(batch) {
    Rng rng(3);
    e = Grid<float>(reference::random_grid(layout.total_rows(), kState, 1.0, rng));
    jacobian = Grid<float>(reference::random_grid(kState, kState, 0.5, rng));
  }
  PackedLayout layout;
  Grid<float> e;
  Grid<float> jacobian;
};

// g by its definition, in double: what each local backward must have seen.
inline Grid<double> total_gradient(const Grid<float>& e, const Grid<double>& jacobian,
                                   const PackedLayout& layout = kLayout) {
  Grid<double> g(e);
  for (dim_t t = layout.steps() - 1; t > 0; --t) {
    for (dim_t b = 0; b < layout.rows_at(t); ++b) {
      for (dim_t i = 0; i < kState; ++i) {
        for (dim_t j = 0; j < kState; ++j) {
          g(layout.offset(t - 1) + b, j) += g(layout.offset(t) + b, i) * jacobian(i, j);
        }
      }
    }
  }
  return g;
}

inline RecordingCell run(Feedback& feedback, const Problem& problem) {
  RecordingCell cell(problem.layout, problem.jacobian);
  Grid<float> g = problem.e;
  FeedbackWorkspace work;
  feedback.run(problem.layout, cell, work, g.view());
  EXPECT_EQ(cell.visits, std::vector<int>(cell.visits.size(), 1)) << "each row exactly once";
  return cell;
}

// Sums of at most 7 steps of 13 products each, in float.
inline constexpr double kTolerance = 20 * 6e-8;

}  // namespace dsf
