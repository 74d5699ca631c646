#pragma once

// Feedbacks on a small cell of the library, between its forward and its backward pass.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "dsf/feedback/feedback.h"
#include "tests/reference/cell_problem.h"
#include "tests/reference/feedback_definition.h"

namespace dsf {

using reference::CellCase;
using reference::CellProblem;
using reference::Grid;
using reference::TotalGradients;

inline FeedbackConfig config_of(const std::string& method, const std::string& scan = "auto") {
  FeedbackConfig config;
  config.method = method;
  config.scan = parse_choice<DiagonalForm>("feedback.scan", scan);
  return config;
}

inline constexpr dim_t kState = 13;
inline const PackedLayout kLayout({70, 70, 41, 33, 9, 9, 1});

/// An rnn, whose state has a width that no vector divides. Its U is large enough for gradients to
/// reach far back and to leave the diagonal.
struct Problem : CellProblem {
  explicit Problem(PackedLayout batch = kLayout, std::uint64_t seed = 3)
      : CellProblem(reference::kAllCells[0], kState, std::move(batch), seed) {
    Rng rng(seed, "U");
    parameters[1] = reference::random_grid(kState, kState, 0.5, rng);
  }
};

using RunResult = reference::FastCell::Result;

inline bool is_finite(const Grid<float>& grid) {
  return std::all_of(grid.values.begin(), grid.values.end(),
                     [](float value) { return std::isfinite(value); });
}

/// Rounding of float (6e-8) in the gates of at most nine steps, and in sums of at most 26 products
/// at each of them.
inline constexpr double kTolerance = 50 * 6e-8;

inline void expect_close(const Grid<float>& fast, const Grid<double>& slow,
                         const std::string& what) {
  EXPECT_LT(reference::relative_error(Grid<double>(fast), slow), kTolerance) << what;
}

/// One batch. Each row's local backward must have been done once, with the g that is left there.
inline RunResult run(Feedback& feedback, const CellProblem& problem) {
  reference::FastCell cell(problem, feedback.jacobian_use());
  const RunResult result = cell.back([&](BackwardPass& pass) { feedback.run(pass); });
  if (is_finite(result.g)) {
    const RunResult local =
        cell.back_from(result.g, [](BackwardPass& pass) { pass.local_backward(); });
    Grid<double> done(1, static_cast<dim_t>(result.d.size()));
    Grid<double> expected = done;
    done.values.assign(result.d.begin(), result.d.end());
    expected.values.assign(local.d.begin(), local.d.end());
    EXPECT_LT(reference::relative_error(done, expected), kTolerance) << "local backward";
  }
  return result;
}

inline TotalGradients exact_gradients(const CellProblem& problem) {
  return reference::total_gradients(problem.slow(), problem.e, {});
}

inline TotalGradients gradients_by_diagonal(const CellProblem& problem, std::vector<double> a) {
  reference::Carry carry;
  carry.method = reference::Method::dsf;
  carry.a = std::move(a);
  return reference::total_gradients(problem.slow(), problem.e, carry);
}

inline void expect_close(const RunResult& fast, const TotalGradients& slow) {
  expect_close(fast.g, slow.g, "g");
  expect_close(fast.initial, slow.initial, "the initial states'");
}

}  // namespace dsf
