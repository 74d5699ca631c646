// Gradients in three tiers: (1) the slow reference BPTT against a complex step of the loss, no
// backward pass involved; (2) the library against the reference, for every feedback, cell and
// depth; (3) the library at sizes the reference is too slow for, against derivatives along
// directions.

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "tests/layers/recurrent_fixture.h"
#include "tests/support/layouts.h"

namespace dsf {
namespace {

using reference::Grid;
using reference::Method;
using reference::Parameters;
using reference::Stack;
using testing::CellCase;
using testing::FastResult;
using testing::feedback_of;

// Sequences of length 5, 5, 3, 2, 1, 1.
const PackedLayout kShort({6, 4, 3, 2, 2});

std::string name_of(const CellCase& cell, dim_t layers) {
  return std::string(cell.name) + "_" + std::to_string(layers) +
         (layers == 1 ? "_layer" : "_layers");
}

class RecurrentGradient : public ::testing::TestWithParam<std::tuple<CellCase, dim_t>> {
 protected:
  static Stack stack(dim_t hidden, const PackedLayout& layout) {
    const auto& [cell, layers] = GetParam();
    return reference::random_stack(cell.kind, cell.reset, layers, hidden, layout, 17);
  }
};

INSTANTIATE_TEST_SUITE_P(Cells, RecurrentGradient,
                         ::testing::Combine(::testing::ValuesIn(testing::kAllCells),
                                            ::testing::Values(1, 3)),
                         [](const auto& suite) {
                           return name_of(std::get<0>(suite.param), std::get<1>(suite.param));
                         });

// Both sides are double and free of cancellation: what separates them is the order of sums.
TEST_P(RecurrentGradient, ReferenceBpttEqualsComplexStepOfTheLoss) {
  const Stack s = stack(4, kShort);
  const auto bptt = reference::stack_backward(s, Method::bptt).parameters;
  const auto exact = reference::complex_step_gradient(s);
  for (std::size_t l = 0; l < exact.size(); ++l) {
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_LT(reference::relative_error(bptt[l][k], exact[l][k]), 1e-12)
          << "layer " << l << " " << reference::kParameterNames[k];
    }
  }
}

// A test that cannot tell the methods apart would prove nothing below.
TEST_P(RecurrentGradient, ReferenceMethodsDiffer) {
  const Stack s = stack(4, kShort);
  const auto bptt = reference::stack_backward(s, Method::bptt).parameters;
  const auto ft = reference::stack_backward(s, Method::ft).parameters;
  const auto dsf = reference::stack_backward(s, Method::dsf).parameters;
  const auto gated = reference::stack_backward(s, Method::gated).parameters;
  const auto both = reference::stack_backward(s, Method::gated_dsf).parameters;
  const auto once = reference::stack_backward(s, Method::iterated, 1).parameters;
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_GT(reference::relative_error(gated[0][k], bptt[0][k]), 1e-3);
    EXPECT_GT(reference::relative_error(gated[0][k], ft[0][k]), 1e-3);
    EXPECT_GT(reference::relative_error(once[0][k], bptt[0][k]), 1e-4);
    EXPECT_GT(reference::relative_error(once[0][k], gated[0][k]), 1e-3);
    EXPECT_GT(reference::relative_error(both[0][k], gated[0][k]), 1e-3);
    EXPECT_GT(reference::relative_error(both[0][k], dsf[0][k]), 1e-3);
    EXPECT_GT(reference::relative_error(ft[0][k], bptt[0][k]), 1e-3);
    EXPECT_GT(reference::relative_error(dsf[0][k], bptt[0][k]), 1e-3);
    EXPECT_GT(reference::relative_error(dsf[0][k], ft[0][k]), 1e-3);
  }
}

// Rounding of float (6e-8) passes through some 20 operations per step (gates to 4 units in the last
// place), 5 steps and 3 layers, and does not all point one way: some hundreds of units at most.
constexpr double kFloatTolerance = 300 * 6e-8;

void expect_close(const FastResult& fast, const reference::StackGradients& slow, double tolerance) {
  EXPECT_LT(reference::relative_error(fast.gradients.dx, slow.dx), tolerance) << "dx";
  for (std::size_t l = 0; l < slow.parameters.size(); ++l) {
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_LT(reference::relative_error(fast.gradients.parameters[l][k], slow.parameters[l][k]),
                tolerance)
          << "layer " << l << " " << reference::kParameterNames[k];
    }
  }
}

// 11 units: one whole vector and a remainder. The layout has two slices of sequences (33 > 32), the
// second of which ends before the first.
TEST_P(RecurrentGradient, BpttFtAndEveryScanOfDsfEqualTheSlowReference) {
  const Stack s = stack(std::get<1>(GetParam()) == 1 ? 11 : 9, PackedLayout({33, 33, 9, 2}));
  const auto bptt = reference::stack_backward(s, Method::bptt);
  expect_close(testing::run_fast(s, feedback_of("bptt")), bptt, kFloatTolerance);
  const auto ft = reference::stack_backward(s, Method::ft);
  expect_close(testing::run_fast(s, feedback_of("ft")), ft, kFloatTolerance);
  const auto dsf = reference::stack_backward(s, Method::dsf);
  for (const char* scan : {"auto", "fused", "serial", "blocked", "fft"}) {
    SCOPED_TRACE(scan);
    expect_close(testing::run_fast(s, feedback_of("dsf", scan)), dsf, kFloatTolerance);
  }
}

// The blocked form cuts time every 32 steps, and walks shorter sequences as the serial one does.
// What is rounded at a step fades on the way back as the gradients do: no larger tolerance.
TEST_P(RecurrentGradient, ScansOfLongSequencesEqualTheSlowReference) {
  for (const PackedLayout& layout : {long_ragged_layout(), PackedLayout::uniform(70, 2)}) {
    const Stack s = stack(9, layout);
    const auto dsf = reference::stack_backward(s, Method::dsf);
    for (const char* scan : {"auto", "fused", "serial", "blocked", "fft"}) {
      SCOPED_TRACE(scan);
      expect_close(testing::run_fast(s, feedback_of("dsf", scan)), dsf, kFloatTolerance);
    }
  }
}

TEST_P(RecurrentGradient, OneStepAndOneSequenceEqualTheSlowReference) {
  for (const PackedLayout& layout : {PackedLayout::uniform(1, 3), PackedLayout::uniform(6, 1)}) {
    SCOPED_TRACE(layout.steps());
    const Stack s = stack(9, layout);
    expect_close(testing::run_fast(s, feedback_of("bptt")),
                 reference::stack_backward(s, Method::bptt), kFloatTolerance);
    expect_close(testing::run_fast(s, feedback_of("dsf")),
                 reference::stack_backward(s, Method::dsf), kFloatTolerance);
    expect_close(testing::run_fast(s, feedback_of("gated")),
                 reference::stack_backward(s, Method::gated), kFloatTolerance);
    expect_close(testing::run_fast(s, feedback_of("iterated:2")),
                 reference::stack_backward(s, Method::iterated, 2), kFloatTolerance);
  }
}

// Nine sequences: five slices of a walk without matrix products.
TEST_P(RecurrentGradient, EveryMethodOfTheMenuEqualsItsDefinition) {
  for (const PackedLayout& layout : {PackedLayout({9, 9, 4, 1}), PackedLayout::uniform(4, 3)}) {
    const Stack s = stack(9, layout);
    for (const std::string& method : testing::every_feedback()) {
      SCOPED_TRACE(method);
      testing::FastStack fast(s, testing::soon_learning_feedback(method), Precision::f32);
      if (method == "adaptive") continue;  // below
      expect_close(fast.run(), reference::stack_backward(s, fast.definitions(method)),
                   kFloatTolerance);
    }
  }
}

TEST_P(RecurrentGradient, CorrectionsEqualTheSlowReference) {
  const Stack s = stack(9, PackedLayout({17, 16, 16, 9, 9, 5, 5, 5, 2, 1}));
  for (const dim_t k : {1, 2, 3}) {
    SCOPED_TRACE(k);
    expect_close(testing::run_fast(s, feedback_of("iterated:" + std::to_string(k))),
                 reference::stack_backward(s, Method::iterated, k), kFloatTolerance);
  }
}

TEST_P(RecurrentGradient, BpttByALowerRankEqualsTheSlowReference) {
  for (const PackedLayout& layout :
       {PackedLayout({17, 16, 16, 9, 9, 5, 5, 5, 2, 1}), PackedLayout::uniform(4, 3)}) {
    const Stack s = stack(9, layout);
    for (const dim_t rank : {1, 2, 4}) {
      SCOPED_TRACE(rank);
      expect_close(testing::run_fast(s, feedback_of("bptt:rank:" + std::to_string(rank))),
                   reference::stack_backward(s, Method::low_rank, rank), kFloatTolerance);
    }
  }
}

TEST_P(RecurrentGradient, BpttByTheFullRankIsBpttToTheBit) {
  const Stack s = stack(19, PackedLayout({40, 33, 9, 9, 2}));
  EXPECT_EQ(testing::run_fast(s, feedback_of("bptt:rank:1000")).flat(),
            testing::run_fast(s, feedback_of("bptt")).flat());
}

// The same products as BPTT's, summed in another order.
TEST_P(RecurrentGradient, EnoughCorrectionsAreBptt) {
  for (const PackedLayout& layout :
       {PackedLayout({40, 33, 9, 9, 2}), PackedLayout::uniform(5, 3)}) {
    const Stack s = stack(19, layout);
    const auto bptt = testing::run_fast(s, feedback_of("bptt")).gradients;
    expect_close(testing::run_fast(s, feedback_of("iterated:4")), bptt, kFloatTolerance);
    expect_close(testing::run_fast(s, feedback_of("iterated:100")), bptt, kFloatTolerance);
    EXPECT_GT(reference::relative_error(
                  testing::run_fast(s, feedback_of("iterated:1")).gradients.dx, bptt.dx),
              kFloatTolerance);
  }
}

// The batches that a diagonal is fitted on go back exactly.
TEST_P(RecurrentGradient, FirstBatchOfAdaptiveIsBpttToTheBit) {
  const Stack s = stack(19, PackedLayout({40, 33, 9, 9, 2}));
  EXPECT_EQ(testing::run_fast(s, feedback_of("adaptive")).flat(),
            testing::run_fast(s, feedback_of("bptt")).flat());
}

// And those after them by the diagonal that was learned.
TEST_P(RecurrentGradient, SecondBatchOfAdaptiveIsDsfByItsFittedDiagonal) {
  const Stack s = stack(9, PackedLayout({9, 9, 4, 1}));
  const auto bptt = reference::stack_backward(s, Method::bptt);
  testing::FastStack fast(s, testing::soon_learning_feedback("adaptive"), Precision::f32);
  expect_close(fast.run(), bptt, kFloatTolerance);
  Stack by_what_was_learned = s;
  by_what_was_learned.diagonals = fast.diagonals();
  EXPECT_NE(by_what_was_learned.diagonals, s.diagonals);
  const auto dsf = reference::stack_backward(by_what_was_learned, Method::dsf);
  EXPECT_GT(reference::relative_error(dsf.dx, bptt.dx), 1e-3) << "or the batch may be exact";
  expect_close(fast.run(), dsf, kFloatTolerance);
}

// The same with all sequences equally long, where no previous states are gathered.
TEST_P(RecurrentGradient, EqualLengthsEqualTheSlowReference) {
  const Stack s = stack(9, PackedLayout::uniform(4, 3));
  expect_close(testing::run_fast(s, feedback_of("bptt")),
               reference::stack_backward(s, Method::bptt), kFloatTolerance);
  expect_close(testing::run_fast(s, feedback_of("dsf")), reference::stack_backward(s, Method::dsf),
               kFloatTolerance);
}

double dot(const std::vector<Parameters<double>>& a, const std::vector<Parameters<double>>& b) {
  double sum = 0.0;
  for (std::size_t l = 0; l < a.size(); ++l) {
    for (std::size_t k = 0; k < 4; ++k) {
      for (std::size_t i = 0; i < a[l][k].values.size(); ++i) {
        sum += a[l][k].values[i] * b[l][k].values[i];
      }
    }
  }
  return sum;
}

// One parameter at a time, so that none hides behind a larger one, along two directions. Along the
// gradient itself the derivative is its squared norm. A random direction v shows errors of any
// shape: an error of norm |delta| has a product with v of about |delta| |v| / sqrt(n), n numbers;
// five times that is the bound. Three slices, sizes that are not multiples of anything.
TEST_P(RecurrentGradient, BpttOfALargeStackEqualsDerivativesAlongDirections) {
  const Stack s = stack(70, PackedLayout({67, 67, 66, 40, 33, 32, 31, 1}));
  const auto gradient = testing::run_fast(s, feedback_of("bptt")).gradients.parameters;
  Rng rng(4);
  for (std::size_t l = 0; l < gradient.size(); ++l) {
    for (std::size_t k = 0; k < 4; ++k) {
      SCOPED_TRACE("layer " + std::to_string(l) + " " + reference::kParameterNames[k]);
      const Grid<double>& g = gradient[l][k];
      std::vector<Parameters<double>> direction;
      for (const auto& spec : s.layers) direction.push_back(reference::zero_parameters(spec));

      direction[l][k] = g;
      const double squared = dot(gradient, direction);
      EXPECT_NEAR(reference::complex_step_derivative(s, direction) / squared, 1.0, kFloatTolerance);

      const Grid<double> v = reference::random_grid(g.rows, g.cols, 1.0, rng);
      direction[l][k] = v;
      const double bound = 5.0 * kFloatTolerance * reference::norm(g) * reference::norm(v) /
                           std::sqrt(static_cast<double>(g.values.size()));
      EXPECT_NEAR(dot(gradient, direction), reference::complex_step_derivative(s, direction),
                  bound);
    }
  }
}

// A batch through a used tape sees nothing of those before it, be they larger or smaller: it goes
// back as on a fresh tape, with what the feedback has learned so far.
TEST_P(RecurrentGradient, TapeIsReusable) {
  const Stack large = stack(9, PackedLayout({40, 40, 12, 11, 11, 2}));
  Stack small = stack(9, kShort);
  small.parameters = large.parameters;
  small.diagonals = large.diagonals;
  const Stack* const batches[] = {&large, &small, &small, &large};
  for (const std::string& method : testing::every_feedback()) {
    SCOPED_TRACE(method);
    const FeedbackConfig feedback = testing::soon_learning_feedback(method);
    testing::FastStack used(large, feedback, Precision::f32);
    for (const Stack* batch : batches) {
      testing::FastStack fresh(*batch, feedback, Precision::f32);
      fresh.set_feedback_numbers(used.feedback_numbers());
      EXPECT_EQ(used.run(*batch).flat(), fresh.run().flat());
      EXPECT_EQ(used.feedback_numbers(), fresh.feedback_numbers());
    }
  }
}

}  // namespace
}  // namespace dsf
