// Feedbacks alone, on a cell made up for the test: state s, Jacobian a fixed full matrix, and a
// local backward that only writes down the g it was given.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "dsf/base/error.h"
#include "dsf/base/rng.h"
#include "dsf/cells/slices.h"
#include "dsf/feedback/feedback.h"
#include "tests/reference/grid.h"
#include "tests/reference/reference_stationary.h"

namespace dsf {
namespace {

using reference::Grid;

FeedbackConfig config_of(const std::string& method, const std::string& scan = "auto") {
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
  void finish_local_backward(ConstMatrixF /*g*/) override { ++finished; }
  void backward_step(StepRows rows, MatrixF g) override {
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
    add_own_path(rows, g);
  }
  void begin_trial() override { trial = Grid<float>(layout_.total_rows(), jacobian_.rows); }
  void own_path_trial(StepRows rows, OwnPath /*path*/, MatrixF g) override {
    for (dim_t b = rows.begin; b < rows.begin + rows.count; ++b) {
      const dim_t row = layout_.offset(rows.t) + b;
      for (dim_t j = 0; j < g.cols; ++j) trial(row, j) = g(row, j);
    }
    add_own_path(rows, g);
  }
  void rest_product(OwnPath /*path*/, MatrixF rest) override {
    EXPECT_EQ(std::accumulate(visits.begin(), visits.end(), 0), 0) << "after a local backward";
    for (dim_t row = layout_.batch(); row < layout_.total_rows(); ++row) {
      for (dim_t j = 0; j < jacobian_.cols; ++j) {
        rest(row, j) = -trial(row, j) * jacobian_(j, j);
        for (dim_t i = 0; i < jacobian_.rows; ++i) rest(row, j) += trial(row, i) * jacobian_(i, j);
      }
    }
  }

 private:
  void add_own_path(StepRows rows, MatrixF g) {
    if (rows.t == 0) return;
    for (dim_t b = rows.begin; b < rows.begin + rows.count; ++b) {
      for (dim_t j = 0; j < g.cols; ++j) {
        g(layout_.offset(rows.t - 1) + b, j) += g(layout_.offset(rows.t) + b, j) * jacobian_(j, j);
      }
    }
  }
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
  Grid<float> trial;  ///< g of the trial
};

constexpr dim_t kState = 13;
const PackedLayout kLayout({70, 70, 41, 33, 9, 9, 1});

struct Problem {
  Problem() {
    Rng rng(3);
    e = Grid<float>(reference::random_grid(kLayout.total_rows(), kState, 1.0, rng));
    jacobian = Grid<float>(reference::random_grid(kState, kState, 0.5, rng));
  }
  Grid<float> e;
  Grid<float> jacobian;
};

// g by its definition, in double: what each local backward must have seen.
Grid<double> total_gradient(const Grid<float>& e, const Grid<double>& jacobian) {
  Grid<double> g(e);
  for (dim_t t = kLayout.steps() - 1; t > 0; --t) {
    for (dim_t b = 0; b < kLayout.rows_at(t); ++b) {
      for (dim_t i = 0; i < kState; ++i) {
        for (dim_t j = 0; j < kState; ++j) {
          g(kLayout.offset(t - 1) + b, j) += g(kLayout.offset(t) + b, i) * jacobian(i, j);
        }
      }
    }
  }
  return g;
}

RecordingCell run(Feedback& feedback, const Problem& problem) {
  RecordingCell cell(kLayout, problem.jacobian);
  Grid<float> g = problem.e;
  FeedbackWorkspace work;
  feedback.run(kLayout, cell, work, g.view());
  EXPECT_EQ(cell.visits, std::vector<int>(cell.visits.size(), 1)) << "each row exactly once";
  return cell;
}

// Sums of at most 7 steps of 13 products each, in float.
constexpr double kTolerance = 20 * 6e-8;

TEST(BpttFeedback, FollowsTheJacobianFromStepToStep) {
  const Problem problem;
  const auto feedback = make_feedback(config_of("bptt"), kState, 1, "layer");
  EXPECT_TRUE(feedback->needs_jacobian());
  EXPECT_TRUE(feedback->buffers().empty());
  const RecordingCell cell = run(*feedback, problem);
  const Grid<double> exact = total_gradient(problem.e, Grid<double>(problem.jacobian));
  EXPECT_LT(reference::relative_error(Grid<double>(cell.seen), exact), kTolerance);
}

TEST(TruncatedFeedback, LeavesTheErrorsAlone) {
  const Problem problem;
  const auto feedback = make_feedback(config_of("ft"), kState, 1, "layer");
  EXPECT_FALSE(feedback->needs_jacobian());
  const RecordingCell cell = run(*feedback, problem);
  EXPECT_EQ(cell.seen.values, problem.e.values);
  EXPECT_EQ(cell.finished, 1);
}

class DiagonalFeedbackForms : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Scans, DiagonalFeedbackForms,
                         ::testing::Values("auto", "fused", "serial", "blocked", "fft"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST_P(DiagonalFeedbackForms, FollowTheDiagonalFromStepToStep) {
  const Problem problem;
  const auto feedback = make_feedback(config_of("dsf", GetParam()), kState, 1, "layer");
  EXPECT_FALSE(feedback->needs_jacobian());
  const RecordingCell cell = run(*feedback, problem);
  EXPECT_EQ(cell.finished, 1);
  const std::span<float> a = feedback->buffers().at(0).values;
  Grid<double> diagonal(kState, kState);
  for (dim_t j = 0; j < kState; ++j) diagonal(j, j) = a[static_cast<std::size_t>(j)];
  EXPECT_LT(reference::relative_error(Grid<double>(cell.seen), total_gradient(problem.e, diagonal)),
            kTolerance);
}

// Values loaded from a checkpoint are written through the buffer and must be the ones used.
TEST_P(DiagonalFeedbackForms, ReadTheirBuffer) {
  const Problem problem;
  const auto feedback = make_feedback(config_of("dsf", GetParam()), kState, 1, "layer");
  const std::span<float> a = feedback->buffers().at(0).values;
  std::fill(a.begin(), a.end(), 0.0F);
  const RecordingCell cell = run(*feedback, problem);
  EXPECT_LT(reference::relative_error(Grid<double>(cell.seen), Grid<double>(problem.e)),
            kTolerance);
}

TEST(GatedFeedback, FollowsTheOwnPathFromStepToStep) {
  const Problem problem;
  Grid<double> diagonal(kState, kState);
  for (dim_t j = 0; j < kState; ++j) diagonal(j, j) = static_cast<double>(problem.jacobian(j, j));
  const Grid<double> expected = total_gradient(problem.e, diagonal);
  for (const char* method : {"gated", "gated:diagonal", "iterated:0"}) {
    const auto feedback = make_feedback(config_of(method), kState, 1, "layer");
    EXPECT_FALSE(feedback->needs_jacobian());
    EXPECT_TRUE(feedback->buffers().empty());
    const RecordingCell cell = run(*feedback, problem);
    EXPECT_EQ(cell.finished, 1);
    EXPECT_LT(reference::relative_error(Grid<double>(cell.seen), expected), kTolerance) << method;
  }
}

// Seven steps: each correction makes one more of them exact, counted from the end.
TEST(IteratedFeedback, EachCorrectionMakesOneMoreStepExact) {
  const Problem problem;
  const Grid<double> exact = total_gradient(problem.e, Grid<double>(problem.jacobian));
  for (const dim_t k : {1, 3, 6, 50}) {
    const auto feedback =
        make_feedback(config_of("iterated:" + std::to_string(k)), kState, 1, "layer");
    EXPECT_TRUE(feedback->needs_jacobian());
    const RecordingCell cell = run(*feedback, problem);
    EXPECT_EQ(cell.finished, 1);
    for (dim_t b = 0; b < kLayout.batch(); ++b) {
      for (dim_t t = 0; t < kLayout.length(b); ++t) {
        const dim_t row = kLayout.offset(t) + b;
        double difference = 0.0;
        double size = 0.0;
        for (dim_t j = 0; j < kState; ++j) {
          difference += std::abs(static_cast<double>(cell.seen(row, j)) - exact(row, j));
          size += std::abs(exact(row, j));
        }
        const bool reached = kLayout.length(b) - 1 - t <= k;
        if (reached) {
          EXPECT_LT(difference, 10 * kTolerance * size) << k << " " << t << " " << b;
        } else {
          EXPECT_GT(difference, 1e-3 * size) << k << " " << t << " " << b;
        }
      }
    }
  }
}

Grid<double> matrix_of(const std::string& method, Feedback& feedback) {
  std::vector<std::span<float>> values;
  for (const FeedbackBuffer& buffer : feedback.buffers()) values.push_back(buffer.values);
  if (method == "pairs") return reference::pairs_matrix(kState, values.at(0), values.at(1));
  if (method.starts_with("lowrank")) {
    return reference::low_rank_matrix(kState, values.at(0), values.at(1), values.at(2));
  }
  const dim_t block = static_cast<dim_t>(values.at(0).size()) / kState;
  return reference::block_matrix(kState, block, values.at(0));
}

class StationaryFeedbacks : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Structures, StationaryFeedbacks,
                         ::testing::Values("pairs", "blocks:1", "blocks:4", "blocks:50",
                                           "lowrank:1", "lowrank:3", "dense", "orthogonal"));

TEST_P(StationaryFeedbacks, FollowTheirMatrixFromStepToStep) {
  const Problem problem;
  const auto feedback = make_feedback(config_of(GetParam()), kState, 1, "layer");
  EXPECT_FALSE(feedback->needs_jacobian());
  const RecordingCell cell = run(*feedback, problem);
  EXPECT_EQ(cell.finished, 1);
  const Grid<double> exact = total_gradient(problem.e, matrix_of(GetParam(), *feedback));
  EXPECT_LT(reference::relative_error(Grid<double>(cell.seen), exact), kTolerance);
}

// A norm above 1 would let gradients grow without bound over long sequences. A row vector that A is
// applied to again and again turns towards the direction that A stretches most.
TEST_P(StationaryFeedbacks, DoNotGrow) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const auto feedback = make_feedback(config_of(GetParam()), kState, seed, "layer");
    const Grid<double> a = matrix_of(GetParam(), *feedback);
    for (dim_t start = 0; start < kState; ++start) {
      std::vector<double> v(kState);
      v[static_cast<std::size_t>(start)] = 1.0;
      for (int step = 0; step < 50; ++step) {
        std::vector<double> next(kState);
        for (dim_t i = 0; i < kState; ++i) {
          for (dim_t j = 0; j < kState; ++j) {
            next[static_cast<std::size_t>(j)] += v[static_cast<std::size_t>(i)] * a(i, j);
          }
        }
        const double before = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
        const double after = std::inner_product(next.begin(), next.end(), next.begin(), 0.0);
        // The entries are rounded to float.
        EXPECT_LE(after, before * (1.0 + 1e-5)) << GetParam() << " " << start << " " << step;
        v = next;
      }
    }
  }
}

TEST_P(StationaryFeedbacks, AreDrawnFromTheSeed) {
  const auto matrix = [](std::uint64_t seed, const char* purpose) {
    return matrix_of(GetParam(), *make_feedback(config_of(GetParam()), kState, seed, purpose));
  };
  EXPECT_EQ(matrix(1, "layer").values, matrix(1, "layer").values);
  EXPECT_NE(matrix(1, "layer").values, matrix(2, "layer").values);
  EXPECT_NE(matrix(1, "layer").values, matrix(1, "other layer").values);
}

// a_j = sum (g J)_j g_j / sum g_j^2 over all steps, with BPTT's g, written out.
std::vector<double> least_squares(const Problem& problem) {
  const Grid<double> g = total_gradient(problem.e, Grid<double>(problem.jacobian));
  std::vector<double> a;
  for (dim_t j = 0; j < kState; ++j) {
    double products = 0.0;
    double squares = 0.0;
    for (dim_t row = kLayout.batch(); row < kLayout.total_rows(); ++row) {
      double sent = 0.0;
      for (dim_t i = 0; i < kState; ++i) {
        sent += g(row, i) * static_cast<double>(problem.jacobian(i, j));
      }
      products += sent * g(row, j);
      squares += g(row, j) * g(row, j);
    }
    a.push_back(std::clamp(products / squares, -1.0, 1.0));
  }
  return a;
}

TEST(FittedFeedback, FitsTheLeastSquaresDiagonalOnTheFirstBatches) {
  const Problem problem;
  FeedbackConfig config = config_of("fitted");
  config.calibration = 2;
  const auto feedback = make_feedback(config, kState, 1, "layer");
  const Grid<double> exact = total_gradient(problem.e, Grid<double>(problem.jacobian));
  for (int batch = 0; batch < 2; ++batch) {
    const RecordingCell cell = run(*feedback, problem);
    EXPECT_LT(reference::relative_error(Grid<double>(cell.seen), exact), kTolerance);
  }
  const std::vector<double> a = least_squares(problem);
  const std::span<float> fitted = feedback->buffers().at(0).values;
  Grid<double> diagonal(kState, kState);
  for (dim_t j = 0; j < kState; ++j) {
    const auto place = static_cast<std::size_t>(j);
    // g - e has lost what |e| is larger than g J: a few bits.
    EXPECT_NEAR(fitted[place], a[place], 1e-5);
    diagonal(j, j) = fitted[place];
  }
  for (int batch = 0; batch < 3; ++batch) {
    const RecordingCell cell = run(*feedback, problem);
    EXPECT_LT(
        reference::relative_error(Grid<double>(cell.seen), total_gradient(problem.e, diagonal)),
        kTolerance);
  }
}

TEST(AdaptiveFeedback, RefitsOnTheBatchesOfItsSchedule) {
  const Problem problem;
  Problem other;
  for (float& value : other.jacobian.values) value = -value;
  FeedbackConfig config = config_of("adaptive");
  config.calibration = 1;
  config.refit_every = 3;
  const auto feedback = make_feedback(config, kState, 1, "layer");
  const auto diagonal = [&] {
    const std::span<float> a = feedback->buffers().at(0).values;
    return std::vector<float>(a.begin(), a.end());
  };
  run(*feedback, problem);
  const std::vector<float> first = diagonal();
  run(*feedback, other);
  run(*feedback, other);
  EXPECT_EQ(diagonal(), first) << "not yet";
  run(*feedback, other);
  EXPECT_NE(diagonal(), first) << "the third batch after the first fit";
}

// dsf's p and its derivative v by a, along one column of total_gradient's recursion.
struct Predicted {
  Grid<double> p;
  Grid<double> v;
};

Predicted predict(const Problem& problem, const std::vector<double>& a) {
  const dim_t rows = kLayout.total_rows();
  Predicted result{Grid<double>(rows, kState), Grid<double>(rows, kState)};
  for (dim_t t = kLayout.steps() - 1; t >= 0; --t) {
    for (dim_t b = 0; b < kLayout.rows_at(t); ++b) {
      const dim_t row = kLayout.offset(t) + b;
      const bool last = t + 1 == kLayout.steps() || b >= kLayout.rows_at(t + 1);
      for (dim_t j = 0; j < kState; ++j) {
        const double factor = a[static_cast<std::size_t>(j)];
        const double p = last ? 0.0 : result.p(kLayout.offset(t + 1) + b, j);
        const double v = last ? 0.0 : result.v(kLayout.offset(t + 1) + b, j);
        result.p(row, j) = static_cast<double>(problem.e(row, j)) + factor * p;
        result.v(row, j) = p + factor * v;
      }
    }
  }
  return result;
}

double distance_to_bptt(const Problem& problem, const std::vector<double>& a, dim_t unit) {
  const Grid<double> exact = total_gradient(problem.e, Grid<double>(problem.jacobian));
  const Predicted dsf = predict(problem, a);
  double sum = 0.0;
  for (dim_t row = 0; row < kLayout.total_rows(); ++row) {
    sum += std::pow(exact(row, unit) - dsf.p(row, unit), 2);
  }
  return sum;
}

std::vector<double> diagonal_of(Feedback& feedback) {
  const std::span<float> a = feedback.buffers().at(0).values;
  return {a.begin(), a.end()};
}

TEST(LearnedFeedback, TakesHalfAGaussNewtonStepOnAnExactBatch) {
  const Problem problem;
  FeedbackConfig config = config_of("learned");
  config.calibration = 1;
  const auto feedback = make_feedback(config, kState, 1, "layer");
  const std::vector<double> before = diagonal_of(*feedback);
  const Grid<double> exact = total_gradient(problem.e, Grid<double>(problem.jacobian));
  EXPECT_LT(reference::relative_error(Grid<double>(run(*feedback, problem).seen), exact),
            kTolerance);
  const std::vector<double> after = diagonal_of(*feedback);
  const Predicted dsf = predict(problem, before);
  Grid<double> diagonal(kState, kState);
  for (dim_t j = 0; j < kState; ++j) {
    const auto place = static_cast<std::size_t>(j);
    double products = 0.0;
    double squares = 0.0;
    for (dim_t row = 0; row < kLayout.total_rows(); ++row) {
      products += (exact(row, j) - dsf.p(row, j)) * dsf.v(row, j);
      squares += dsf.v(row, j) * dsf.v(row, j);
    }
    const double expected = std::clamp(before[place] + 0.5 * products / squares, -1.0, 1.0);
    // Single precision in the differences of g and p.
    EXPECT_NEAR(after[place], expected, 1e-5);
    diagonal(j, j) = after[place];
  }
  EXPECT_LT(reference::relative_error(Grid<double>(run(*feedback, problem).seen),
                                      total_gradient(problem.e, diagonal)),
            kTolerance)
      << "the batches after it are DSF's";
}

TEST(LearnedFeedback, EndsWhereNoOtherDiagonalIsNearerToBptt) {
  const Problem problem;
  FeedbackConfig config = config_of("learned");
  config.calibration = 60;
  const auto feedback = make_feedback(config, kState, 1, "layer");
  for (dim_t batch = 0; batch < config.calibration; ++batch) run(*feedback, problem);
  const std::vector<double> learned = diagonal_of(*feedback);
  for (dim_t j = 0; j < kState; ++j) {
    const double least = distance_to_bptt(problem, learned, j);
    for (const double away : {-0.05, 0.05}) {
      std::vector<double> other = learned;
      double& a = other[static_cast<std::size_t>(j)];
      a = std::clamp(a + away, -1.0, 1.0);
      EXPECT_LE(least, distance_to_bptt(problem, other, j) * (1.0 + 1e-9)) << j;
    }
  }
}

// What a checkpoint stores is all there is: a feedback with the buffers of another goes on as it.
class LearningFeedbacks : public ::testing::TestWithParam<const char*> {};

TEST_P(LearningFeedbacks, BuffersAreTheWholeState) {
  const Problem problem;
  FeedbackConfig config = config_of(GetParam());
  config.calibration = 2;
  config.refit_every = 2;
  const auto one = make_feedback(config, kState, 1, "layer");
  for (int batch = 0; batch < 3; ++batch) run(*one, problem);
  const auto two = make_feedback(config, kState, 1, "layer");
  const auto from = one->buffers();
  const auto to = two->buffers();
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::copy(from[i].values.begin(), from[i].values.end(), to[i].values.begin());
  }
  for (int batch = 0; batch < 4; ++batch) {
    EXPECT_EQ(run(*one, problem).seen.values, run(*two, problem).seen.values) << batch;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, LearningFeedbacks, ::testing::Values("adaptive", "learned"));

std::vector<float> diagonal_of(const FeedbackConfig& config, dim_t size = kState,
                               std::uint64_t seed = 1, const char* purpose = "layer") {
  const auto feedback = make_feedback(config, size, seed, purpose);
  const FeedbackBuffer buffer = feedback->buffers().at(0);
  EXPECT_EQ(buffer.name, "diagonal");
  return {buffer.values.begin(), buffer.values.end()};
}

TEST(DiagonalFeedbackInit, UniformFillsItsRangeFromTheSeed) {
  FeedbackConfig config = config_of("dsf");
  config.range = {0.25, 0.75};
  const std::vector<float> a = diagonal_of(config, 4000);
  const auto [low, high] = std::minmax_element(a.begin(), a.end());
  EXPECT_GE(*low, 0.25F);
  EXPECT_LE(*high, 0.75F);
  EXPECT_LT(*low, 0.26F);
  EXPECT_GT(*high, 0.74F);
  EXPECT_EQ(a, diagonal_of(config, 4000));
  EXPECT_NE(a, diagonal_of(config, 4000, 2));
  EXPECT_NE(a, diagonal_of(config, 4000, 1, "other layer"));
}

TEST(DiagonalFeedbackInit, LinspaceReachesBothEnds) {
  FeedbackConfig config = config_of("dsf");
  config.init = "linspace";
  config.range = {0.5, 1.0};
  EXPECT_EQ(diagonal_of(config, 5), (std::vector<float>{0.5F, 0.625F, 0.75F, 0.875F, 1.0F}));
  EXPECT_EQ(diagonal_of(config, 1), (std::vector<float>{0.75F}));
}

TEST(DiagonalFeedbackInit, ConstantIsTheMeanOfTheRange) {
  FeedbackConfig config = config_of("dsf");
  config.init = "constant";
  config.range = {0.25, 0.75};
  EXPECT_EQ(diagonal_of(config, 3), (std::vector<float>{0.5F, 0.5F, 0.5F}));
  config.range = {0.0, 0.0};
  EXPECT_EQ(diagonal_of(config, 2), (std::vector<float>{0.0F, 0.0F}));
}

std::string error_of(const FeedbackConfig& config) {
  try {
    make_feedback(config, kState, 1, "layer");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(FeedbackConfigErrors, NameTheKeyAndTheKnownValues) {
  EXPECT_EQ(error_of(config_of("rtrl")),
            "feedback.method = \"rtrl\" is unknown; known: bptt, ft, dsf, gated, gated:diagonal, "
            "iterated:K, fitted, adaptive, learned, pairs, blocks:K, lowrank:K, dense, "
            "orthogonal");
  EXPECT_EQ(error_of(config_of("dsf", "parallel")),
            "feedback.scan = \"parallel\" is unknown; known: auto, fused, serial, blocked, fft");
  FeedbackConfig config = config_of("dsf");
  config.init = "normal";
  EXPECT_EQ(error_of(config),
            "feedback.init = \"normal\" is unknown; known: uniform, linspace, constant");
}

TEST(FeedbackConfigErrors, IteratedNeedsAWholeNumber) {
  for (const char* method : {"iterated", "iterated:", "iterated:K", "iterated:-1", "iterated:1.5",
                             "iterated:1x", "iterated:12345678901"}) {
    EXPECT_NE(error_of(config_of(method)).find("iterated:K"), std::string::npos) << method;
  }
  EXPECT_EQ(error_of(config_of("iterated:12")), "no error");
}

TEST(FeedbackConfigErrors, BlocksAndRanksStartAtOne) {
  for (const char* method : {"blocks:0", "lowrank:0"}) {
    EXPECT_NE(error_of(config_of(method)).find("at least 1"), std::string::npos) << method;
  }
}

TEST(FeedbackConfigErrors, RangeMustLieInTheUnitInterval) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<double>& range : std::vector<std::vector<double>>{{},
                                                                           {0.5},
                                                                           {0.0, 0.5, 1.0},
                                                                           {-0.1, 0.5},
                                                                           {0.5, 1.1},
                                                                           {0.8, 0.2},
                                                                           {nan, 0.5},
                                                                           {0.5, nan}}) {
    FeedbackConfig config = config_of("dsf");
    config.range = range;
    EXPECT_NE(error_of(config).find("feedback.range"), std::string::npos) << range.size();
  }
  FeedbackConfig config = config_of("dsf");
  config.range = {0.8, 0.2};
  EXPECT_EQ(
      error_of(config),
      "feedback.range = [0.8, 0.2] must be two numbers [low, high] with 0 <= low <= high <= 1");
}

}  // namespace
}  // namespace dsf
