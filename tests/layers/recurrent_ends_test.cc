// Gradients at both ends of a batch: into the last states, and out of the initial ones.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/layers/recurrent_fixture.h"
#include "tests/support/layouts.h"

namespace dsf {
namespace {

using reference::CellProblem;
using reference::Complex;
using reference::Grid;
using testing::CellCase;

constexpr dim_t kHidden = 9;

// One layer over the batch of a problem, with another gradient for the last states.
struct Batch : CellProblem {
  Batch(const CellCase& cell, const PackedLayout& batch) : CellProblem(cell, kHidden, batch) {
    Rng rng(31);
    last = reference::random_grid(layout.batch(), spec.state(), 1.0, rng);
  }
  dim_t last_row(dim_t b) const { return layout.offset(layout.length(b) - 1) + b; }
  /// e with `last` added to the last step of each sequence.
  Grid<double> joined_errors() const {
    Grid<double> joined = e;
    for (dim_t b = 0; b < layout.batch(); ++b) {
      for (dim_t j = 0; j < e.cols; ++j) {
        joined(last_row(b), j) = static_cast<double>(static_cast<float>(e(last_row(b), j)) +
                                                     static_cast<float>(last(b, j)));
      }
    }
    return joined;
  }

  Grid<double> last;
};

struct LayerResult {
  Grid<float> dx;
  Grid<float> initial;
  std::vector<float> gradients;
};

class Layer {
 public:
  Layer(const Batch& batch, const FeedbackConfig& feedback)
      : batch_(batch),
        layer_(table_, "",
               make_cell(batch.spec.kind, batch.spec.reset, batch.spec.input, batch.spec.hidden),
               make_feedback(feedback, batch.spec.state(), 1, "diagonal")),
        tape_(layer_.make_tape()),
        weights_(table_) {
    const std::span<float> weights = weights_.mutable_span();
    for (std::size_t k = 0; k < 4; ++k) {
      const auto& values = batch.parameters[k].values;
      std::copy(values.begin(), values.end(), weights.begin() + table_.entries()[k].id.offset);
    }
  }

  enum class Ends { none, last, initial, both };

  LayerResult run(const Grid<double>& errors, Ends ends) {
    const Grid<float> x(batch_.x);
    Grid<float> state(batch_.initial);
    Grid<float> y(x.rows, layer_.output_width());
    layer_.forward(weights_, batch_.layout, x.view(), state.view(), *tape_, y.view());

    Grid<float> dy(errors);
    const Grid<float> last(batch_.last);
    LayerResult result{Grid<float>(x.rows, x.cols), Grid<float>(state.rows, state.cols), {}};
    std::fill(result.initial.values.begin(), result.initial.values.end(), 7.0F);  // overwritten
    result.gradients.resize(static_cast<std::size_t>(table_.flat_size()));
    EndGradients given;
    if (ends == Ends::last || ends == Ends::both) given.last = last.view();
    if (ends == Ends::initial || ends == Ends::both) given.initial = result.initial.view();
    layer_.backward(batch_.layout, x.view(), *tape_, dy.view(), given, result.dx.view(),
                    {result.gradients.data()});
    return result;
  }
  std::vector<NamedBuffer> buffers() { return layer_.buffers(); }

 private:
  const Batch& batch_;
  ParameterTable table_;
  RecurrentLayer layer_;
  std::unique_ptr<MixerTape> tape_;
  ParameterValues weights_;
};

class EndGradientsOf : public ::testing::TestWithParam<CellCase> {
 protected:
  /// Sequences of equal and of other lengths, in one slice and in several, long and short.
  static std::vector<PackedLayout> layouts() {
    return {PackedLayout({40, 37, 33, 9, 9, 2}), PackedLayout({5, 3, 1}),
            PackedLayout::uniform(4, 3), PackedLayout::uniform(1, 2), PackedLayout::uniform(7, 1)};
  }
};
INSTANTIATE_TEST_SUITE_P(Cells, EndGradientsOf, ::testing::ValuesIn(testing::kAllCells),
                         [](const auto& suite) { return std::string(suite.param.name); });

// Rounding of float in gates and products of at most seven steps.
constexpr double kTolerance = 50 * 6e-8;

std::vector<FeedbackConfig> every_config() {
  std::vector<FeedbackConfig> configs;
  for (const std::string& method : testing::every_feedback()) {
    configs.push_back(testing::soon_learning_feedback(method));
  }
  for (const char* scan : {"fused", "serial", "blocked", "fft"}) {
    configs.push_back(testing::feedback_of("dsf", scan));
  }
  return configs;
}

TEST_P(EndGradientsOf, OfTheInitialStatesEqualTheDefinitionOfEveryMethod) {
  for (const PackedLayout& layout : layouts()) {
    const Batch batch(GetParam(), layout);
    for (const FeedbackConfig& config : every_config()) {
      SCOPED_TRACE(config.method + " " + std::string(name_of(config.scan)));
      Layer layer(batch, config);
      const Grid<double> e = batch.joined_errors();
      const auto expect_close = [&](const reference::Carry& carry) {
        const auto slow = reference::total_gradients(batch.slow(), e, carry);
        const LayerResult fast = layer.run(batch.e, Layer::Ends::both);
        EXPECT_LT(reference::relative_error(Grid<double>(fast.initial), slow.initial), kTolerance);
      };
      if (config.method == "adaptive") expect_close({});  // its first batch goes back exactly
      expect_close(reference::definition_of(config.method, batch.spec, layer.buffers()));
    }
  }
}

TEST_P(EndGradientsOf, OfTheLastStatesAreErrorsOfTheLastSteps) {
  for (const PackedLayout& layout : layouts()) {
    const Batch batch(GetParam(), layout);
    for (const FeedbackConfig& config : every_config()) {
      SCOPED_TRACE(config.method + " " + std::string(name_of(config.scan)));
      const LayerResult given = Layer(batch, config).run(batch.e, Layer::Ends::both);
      const LayerResult added =
          Layer(batch, config).run(batch.joined_errors(), Layer::Ends::initial);
      EXPECT_EQ(given.dx.values, added.dx.values);
      EXPECT_EQ(given.initial.values, added.initial.values);
      EXPECT_EQ(given.gradients, added.gradients);
      const LayerResult without = Layer(batch, config).run(batch.e, Layer::Ends::initial);
      EXPECT_NE(given.dx.values, without.dx.values);
    }
  }
}

// What nobody asks for changes nothing else.
TEST_P(EndGradientsOf, OfTheInitialStatesDoNotChangeTheOthers) {
  const Batch batch(GetParam(), layouts()[0]);
  for (const FeedbackConfig& config : every_config()) {
    SCOPED_TRACE(config.method + " " + std::string(name_of(config.scan)));
    const LayerResult with = Layer(batch, config).run(batch.e, Layer::Ends::both);
    const LayerResult without = Layer(batch, config).run(batch.e, Layer::Ends::last);
    EXPECT_EQ(with.dx.values, without.dx.values);
    EXPECT_EQ(with.gradients, without.gradients);
  }
}

// loss = <last states, v>, differentiated by each number of the initial states: no backward pass.
Grid<double> complex_step_of_initial(const Batch& batch) {
  const auto parameters = reference::cast<Complex>(batch.parameters);
  const Grid<Complex> x(batch.x);
  Grid<Complex> initial(batch.initial);
  Grid<double> gradient(initial.rows, initial.cols);
  for (std::size_t i = 0; i < initial.values.size(); ++i) {
    const Complex kept = initial.values[i];
    initial.values[i] += Complex(0.0, reference::kComplexStep);
    const Grid<Complex> states =
        reference::layer_forward(batch.spec, parameters, batch.layout, x, initial);
    initial.values[i] = kept;
    for (dim_t b = 0; b < batch.layout.batch(); ++b) {
      for (dim_t j = 0; j < states.cols; ++j) {
        gradient.values[i] +=
            batch.last(b, j) * states(batch.last_row(b), j).imag() / reference::kComplexStep;
      }
    }
  }
  return gradient;
}

TEST_P(EndGradientsOf, OfBpttAreTheDerivativeOfTheLastStatesByTheInitialOnes) {
  for (const PackedLayout& layout :
       {PackedLayout({6, 4, 3, 1}), PackedLayout::uniform(4, 3), PackedLayout::uniform(1, 2)}) {
    Batch batch(GetParam(), layout);
    std::fill(batch.e.values.begin(), batch.e.values.end(), 0.0);
    const Grid<double> exact = complex_step_of_initial(batch);
    // Enough corrections for every step, and for the initial states, are BPTT.
    const std::string enough = "iterated:" + std::to_string(layout.steps());
    for (const std::string& method : {std::string("bptt"), std::string("adaptive"), enough}) {
      SCOPED_TRACE(method);
      const LayerResult fast =
          Layer(batch, testing::feedback_of(method)).run(batch.e, Layer::Ends::both);
      EXPECT_LT(reference::relative_error(Grid<double>(fast.initial), exact), kTolerance);
    }
  }
}

TEST_P(EndGradientsOf, OfTheInitialStatesAreZeroIfNothingGoesBackInTime) {
  const Batch batch(GetParam(), layouts()[0]);
  const LayerResult fast = Layer(batch, testing::feedback_of("ft")).run(batch.e, Layer::Ends::both);
  EXPECT_EQ(fast.initial.values, std::vector<float>(fast.initial.values.size(), 0.0F));
}

// A sequence in two halves, the second one's gradient handed to the first: BPTT over both.
TEST_P(EndGradientsOf, JoinTwoBatchesToOne) {
  constexpr dim_t kSteps = 6;
  constexpr dim_t kSequences = 4;
  constexpr dim_t kRows = kSteps / 2 * kSequences;
  const Batch whole(GetParam(), PackedLayout::uniform(kSteps, kSequences));
  const LayerResult expected =
      Layer(whole, testing::feedback_of("bptt")).run(whole.e, Layer::Ends::both);
  const Grid<double> states =
      reference::layer_forward(whole.spec, whole.parameters, whole.layout, whole.x, whole.initial);
  const auto half = [&](dim_t begin) {
    Batch part(GetParam(), PackedLayout::uniform(kSteps / 2, kSequences));
    part.parameters = whole.parameters;
    for (dim_t i = 0; i < kRows; ++i) {
      part.x.set_row(i, whole.x.row(begin + i));
      part.e.set_row(i, whole.e.row(begin + i));
    }
    return part;
  };
  Batch second = half(kRows);
  for (dim_t b = 0; b < kSequences; ++b) {
    second.initial.set_row(b, states.row(kRows - kSequences + b));
  }
  second.last = whole.last;
  const LayerResult of_second =
      Layer(second, testing::feedback_of("bptt")).run(second.e, Layer::Ends::both);
  Batch first = half(0);
  first.initial = whole.initial;
  first.last = Grid<double>(of_second.initial);
  const LayerResult of_first =
      Layer(first, testing::feedback_of("bptt")).run(first.e, Layer::Ends::both);
  EXPECT_LT(
      reference::relative_error(Grid<double>(of_first.initial), Grid<double>(expected.initial)),
      kTolerance);
  Grid<double> sum(1, static_cast<dim_t>(expected.gradients.size()));
  Grid<double> all = sum;
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    sum.values[i] = static_cast<double>(of_first.gradients[i] + of_second.gradients[i]);
    all.values[i] = static_cast<double>(expected.gradients[i]);
  }
  EXPECT_LT(reference::relative_error(sum, all), kTolerance);
}

}  // namespace
}  // namespace dsf
