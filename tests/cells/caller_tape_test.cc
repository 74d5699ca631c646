// A cell on memory of its caller's: the tape stays as it was, outputs and biases may be left out, gradients are
// overwritten, and weights are packed only if that pays.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "dsf/cells/rnn.h"
#include "tests/reference/cell_problem.h"

namespace dsf {
namespace {

using reference::CellCase;
using reference::CellProblem;
using reference::Grid;

// The GRU that resets before needs its tape in place.
std::vector<CellCase> cells_on_any_memory() {
  std::vector<CellCase> cells(std::begin(reference::kAllCells), std::end(reference::kAllCells));
  std::erase_if(cells, [](const CellCase& cell) { return cell.reset == GruReset::before; });
  return cells;
}

constexpr dim_t kHidden = 11;

struct Options {
  bool in_place = false;  // d replaces the gates
  bool biases = true;     // or none, in the place of zeros
  bool h_alone = false;   // the output
  bool wants_x = true;
  Into into = Into::overwrite;
  dim_t rows = PackedWeights::kManyRows;
  Precision precision = Precision::f32;
};

struct Results {
  std::vector<float> y, dx, dW, dU, db_ih, db_hh;
  std::vector<float> tape_before, tape_after;
};

// Forward and back with BPTT. What is overwritten starts as 7, what is accumulated into as 0.
Results run(const CellProblem& problem, const Options& options) {
  const auto cell = make_cell(problem.spec.kind, problem.spec.reset, problem.spec.input, kHidden);
  auto weights = reference::cast<float>(problem.parameters);
  if (!options.biases) {
    for (const std::size_t bias : {2, 3}) {
      std::fill(weights[bias].values.begin(), weights[bias].values.end(), 0.0F);
    }
  }
  const auto bias = [&](std::size_t i) {
    return options.biases ? weights[i].values.data() : nullptr;
  };
  cell->prepare({weights[0].view(), weights[1].view(), bias(2), bias(3)}, options.precision,
                {.needed = true}, {.rows = options.rows});

  const PackedLayout& layout = problem.layout;
  const dim_t N = layout.total_rows();
  const CellShape& shape = cell->shape();
  Matrix states;
  Matrix gates;
  Matrix d;
  CellWork work;
  CellTape tape = CellTape::in(states, gates, shape, layout);
  gates.zero();
  if (!options.in_place) tape.d = d.reshape(N, shape.tape_stride()).middle_cols(0, shape.tape);

  const Grid<float> x(problem.x);
  Grid<float> state(problem.initial);
  const dim_t width = options.h_alone ? kHidden : shape.state;
  Results results;
  results.y.assign(static_cast<std::size_t>(N * width), 7.0F);
  cell->forward(layout, x.view(), state.view(), tape, work, {results.y.data(), N, width});

  const auto tape_numbers = [&] {
    std::vector<float> all(states.span().begin(), states.span().end());
    if (shape.reads_gates) all.insert(all.end(), gates.span().begin(), gates.span().end());
    return all;
  };
  results.tape_before = tape_numbers();
  Grid<float> g(problem.e);
  BackwardPass pass(*cell, layout, x.view(), tape, work, g.view(), {});
  pass.walk_jacobian();
  const float start = options.into == Into::overwrite ? 7.0F : 0.0F;
  const auto fresh = [&](dim_t size) {
    return std::vector<float>(static_cast<std::size_t>(size), start);
  };
  const dim_t KD = shape.gate_columns();
  results.dx.assign(static_cast<std::size_t>(N * shape.input), 7.0F);
  results.dW = fresh(KD * shape.input);
  results.dU = fresh(KD * kHidden);
  results.db_ih = fresh(KD);
  results.db_hh = fresh(KD);
  MatrixF dx(results.dx.data(), N, shape.input);
  if (!options.wants_x) dx = {};
  cell->parameter_gradients(layout, x.view(), tape, work, dx, options.into,
                            {{results.dW.data(), KD, shape.input},
                             {results.dU.data(), KD, kHidden},
                             options.biases ? results.db_ih.data() : nullptr,
                             options.biases ? results.db_hh.data() : nullptr});
  results.tape_after = tape_numbers();
  return results;
}

class CellOnCallersMemory : public ::testing::TestWithParam<CellCase> {
 protected:
  CellProblem problem_{GetParam(), kHidden, PackedLayout({40, 37, 33, 9, 4, 1})};
};
INSTANTIATE_TEST_SUITE_P(Cells, CellOnCallersMemory, ::testing::ValuesIn(cells_on_any_memory()),
                         [](const auto& suite) { return std::string(suite.param.name); });

void expect_same_gradients(const Results& one, const Results& other) {
  EXPECT_EQ(one.dx, other.dx);
  EXPECT_EQ(one.dW, other.dW);
  EXPECT_EQ(one.dU, other.dU);
  EXPECT_EQ(one.db_ih, other.db_ih);
  EXPECT_EQ(one.db_hh, other.db_hh);
}

TEST_P(CellOnCallersMemory, BackwardLeavesTheTapeAsItWas) {
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    const Results results = run(problem_, {.precision = precision});
    EXPECT_EQ(results.tape_before, results.tape_after);
  }
}

TEST_P(CellOnCallersMemory, PlaceOfTheGradientsChangesNoBit) {
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    expect_same_gradients(run(problem_, {.precision = precision}),
                          run(problem_, {.in_place = true, .precision = precision}));
  }
}

TEST_P(CellOnCallersMemory, OverwrittenGradientsAreThoseAccumulatedFromZero) {
  expect_same_gradients(run(problem_, {}), run(problem_, {.into = Into::accumulate}));
}

TEST_P(CellOnCallersMemory, OutputMayBeTheFirstColumnsAlone) {
  const Results all = run(problem_, {});
  const Results h = run(problem_, {.h_alone = true});
  const auto rows = static_cast<std::size_t>(problem_.layout.total_rows());
  const std::size_t width = all.y.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t j = 0; j < kHidden; ++j) {
      ASSERT_EQ(h.y[row * kHidden + j], all.y[row * width + j]) << row << " " << j;
    }
  }
}

TEST_P(CellOnCallersMemory, MissingBiasesAreZerosWithoutAGradient) {
  Options zeros;
  CellProblem problem = problem_;
  for (const std::size_t bias : {2, 3}) {
    auto& values = problem.parameters[bias].values;
    std::fill(values.begin(), values.end(), 0.0);
  }
  const Results with = run(problem, zeros);
  const Results without = run(problem_, {.biases = false});
  EXPECT_EQ(with.y, without.y);
  EXPECT_EQ(with.dW, without.dW);
  EXPECT_EQ(without.db_ih, std::vector<float>(without.db_ih.size(), 7.0F));
  EXPECT_EQ(without.db_hh, std::vector<float>(without.db_hh.size(), 7.0F));
}

TEST_P(CellOnCallersMemory, GradientOfTheInputIsOptional) {
  const Results results = run(problem_, {.wants_x = false});
  EXPECT_EQ(results.dx, std::vector<float>(results.dx.size(), 7.0F));
  EXPECT_EQ(results.dW, run(problem_, {}).dW);
}

// Unpacked products take the terms of a sum in another order: rounding of float (6e-8) in sums of at most 124
// products of numbers below 1, through six steps.
TEST_P(CellOnCallersMemory, WeightsAsTheyAreGiveTheSameAsPackedOnes) {
  const Results packed = run(problem_, {});
  const Results plain = run(problem_, {.rows = 1});
  const auto expect_near = [](const std::vector<float>& one, const std::vector<float>& other) {
    double difference = 0.0;
    double size = 0.0;
    for (std::size_t i = 0; i < one.size(); ++i) {
      difference += std::pow(static_cast<double>(one[i]) - static_cast<double>(other[i]), 2);
      size += std::pow(static_cast<double>(one[i]), 2);
    }
    EXPECT_LT(std::sqrt(difference), 50 * 6e-8 * std::sqrt(size));
  };
  expect_near(packed.y, plain.y);
  expect_near(packed.dx, plain.dx);
  expect_near(packed.dU, plain.dU);
}

// One unit, one sequence: h = max(0, w x + u h + b), and BPTT by hand.
TEST(RnnCellWithRelu, HasTheSlopeOfReluForwardAndBack) {
  RnnCell cell(1, 1, Nonlinearity::relu);
  const float w = 1.0F;
  const float u = 0.5F;
  const float b = 0.25F;
  cell.prepare({{&w, 1, 1}, {&u, 1, 1}, &b, nullptr}, Precision::f32, {.needed = true});
  const std::vector<float> x = {1.0F, -3.0F, 2.0F};
  std::vector<float> y(3);
  const PackedLayout layout = PackedLayout::uniform(3, 1);
  Matrix states;
  CellWork work;
  const CellTape tape = CellTape::in(states, work.gates, cell.shape(), layout);
  cell.forward(layout, {x.data(), 3, 1}, {}, tape, work, {y.data(), 3, 1});
  EXPECT_EQ(y, (std::vector<float>{1.25F, 0.0F, 2.25F}));

  std::vector<float> g = {1.0F, 1.0F, 1.0F};
  BackwardPass pass(cell, layout, {x.data(), 3, 1}, tape, work, {g.data(), 3, 1}, {});
  pass.walk_jacobian();
  EXPECT_EQ(g, (std::vector<float>{1.0F, 1.5F, 1.0F}));
  EXPECT_EQ(tape.d(0, 0), 1.0F);
  EXPECT_EQ(tape.d(1, 0), 0.0F);
  EXPECT_EQ(tape.d(2, 0), 1.0F);
}

}  // namespace
}  // namespace dsf
