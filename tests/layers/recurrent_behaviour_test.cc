#include <gtest/gtest.h>

#include <cmath>

#include "dsf/base/error.h"
#include "tests/layers/recurrent_fixture.h"
#include "tests/support/layouts.h"
#include "tests/support/thread_guard.h"

namespace dsf {
namespace {

using reference::Grid;
using reference::LayerSpec;
using reference::Parameters;
using reference::Stack;
using testing::CellCase;
using testing::feedback_of;

class RecurrentLayerCells : public ::testing::TestWithParam<CellCase> {
 protected:
  static Stack stack(dim_t hidden, const PackedLayout& layout) {
    return reference::random_stack(GetParam().kind, GetParam().reset, 2, hidden, layout, 5);
  }
};

INSTANTIATE_TEST_SUITE_P(Cells, RecurrentLayerCells, ::testing::ValuesIn(testing::kAllCells),
                         [](const auto& suite) { return std::string(suite.param.name); });

const PackedLayout kPacked({70, 70, 69, 33, 8, 1});

TEST_P(RecurrentLayerCells, ZeroDiagonalEqualsFullTruncationToTheBit) {
  for (const PackedLayout& layout :
       {kPacked, PackedLayout::uniform(5, 3), long_ragged_layout(), PackedLayout::uniform(70, 2)}) {
    Stack s = stack(19, layout);
    for (auto& a : s.diagonals) std::fill(a.begin(), a.end(), 0.0);
    for (const Precision precision : {Precision::f32, Precision::bf16}) {
      const std::vector<double> ft = testing::run_fast(s, feedback_of("ft"), precision).flat();
      for (const char* scan : {"auto", "fused", "serial", "blocked", "fft"}) {
        EXPECT_EQ(testing::run_fast(s, feedback_of("dsf", scan), precision).flat(), ft) << scan;
      }
    }
  }
}

void expect_threads_change_nothing(const Stack& s, const FeedbackConfig& feedback,
                                   Precision precision) {
  SCOPED_TRACE(feedback.method + " " + std::string(name_of(feedback.scan)));
  // If a feedback learns, the first batch goes back exactly and the second by what it taught.
  const auto run_with = [&](int threads) {
    const testing::ThreadGuard set(threads);
    testing::FastStack fast(s, feedback, precision);
    std::vector<double> all = fast.run().flat();
    const std::vector<double> second = fast.run().flat();
    const std::vector<float> learned = fast.feedback_numbers();
    all.insert(all.end(), second.begin(), second.end());
    all.insert(all.end(), learned.begin(), learned.end());
    return all;
  };
  const std::vector<double> one = run_with(1);
  EXPECT_EQ(run_with(2), one);
  EXPECT_EQ(run_with(5), one);
}

TEST_P(RecurrentLayerCells, ThreadsDoNotChangeABit) {
  const Stack s = stack(37, kPacked);
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    for (const std::string& method : testing::every_feedback()) {
      expect_threads_change_nothing(s, testing::soon_learning_feedback(method), precision);
    }
    for (const char* scan : {"serial", "blocked", "fft"}) {
      expect_threads_change_nothing(s, feedback_of("dsf", scan), precision);
    }
  }
}

// Several chunks of time, which threads may take in any order.
TEST_P(RecurrentLayerCells, ThreadsDoNotChangeABitOfAScanOverLongSequences) {
  for (const PackedLayout& layout : {long_ragged_layout(), PackedLayout::uniform(70, 2)}) {
    const Stack s = stack(37, layout);
    for (const char* scan : {"auto", "serial", "blocked", "fft"}) {
      expect_threads_change_nothing(s, feedback_of("dsf", scan), Precision::f32);
    }
  }
}

// One slice of sequences, and products with U large enough to be shared out by columns.
TEST_P(RecurrentLayerCells, ThreadsDoNotChangeABitOfASmallBatch) {
  const Stack s = stack(520, PackedLayout::uniform(3, 2));
  expect_threads_change_nothing(s, feedback_of("bptt"), Precision::f32);
}

// The products of the rebuilt gates have other shapes than those of the walk, and may round
// differently: a few times 2^-24 a sum, far below 1e-5 of the whole.
TEST_P(RecurrentLayerCells, RebuiltGatesGiveTheSameGradients) {
  for (const PackedLayout& layout : {kPacked, PackedLayout::uniform(67, 3)}) {
    const Stack s = stack(37, layout);
    for (const char* method : {"bptt", "ft", "dsf", "gated", "iterated:2", "adaptive"}) {
      SCOPED_TRACE(method);
      const auto kept = testing::run_fast(s, feedback_of(method));
      testing::FastStack rebuilding(s, feedback_of(method), Precision::f32,
                                    std::make_shared<CellWork>());
      const auto rebuilt = rebuilding.run();
      EXPECT_LT(reference::relative_error(rebuilt.gradients.dx, kept.gradients.dx), 1e-5);
      for (std::size_t l = 0; l < 2; ++l) {
        for (std::size_t k = 0; k < 4; ++k) {
          EXPECT_LT(reference::relative_error(rebuilt.gradients.parameters[l][k],
                                              kept.gradients.parameters[l][k]),
                    1e-5)
              << "layer " << l << " " << reference::kParameterNames[k];
        }
      }
    }
  }
}

// bf16 keeps 8 bits: each operand of a product is off by up to 2^-9 of itself. Forward and
// backward, two layers and six steps multiply such errors by a small number; they do not point one
// way.
TEST_P(RecurrentLayerCells, Bf16StaysWithinItsRounding) {
  const Stack s = stack(37, kPacked);
  constexpr double kTolerance = 8.0 / 512.0;
  for (const char* method : {"bptt", "ft", "dsf", "gated", "iterated:2"}) {
    SCOPED_TRACE(method);
    const auto exact = testing::run_fast(s, feedback_of(method), Precision::f32);
    const auto rounded = testing::run_fast(s, feedback_of(method), Precision::bf16);
    EXPECT_LT(reference::relative_error(rounded.y, exact.y), kTolerance);
    EXPECT_GT(reference::relative_error(rounded.y, exact.y), 1e-5) << "is it bf16 at all?";
    for (std::size_t l = 0; l < 2; ++l) {
      for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_LT(reference::relative_error(rounded.gradients.parameters[l][k],
                                            exact.gradients.parameters[l][k]),
                  kTolerance)
            << "layer " << l << " " << reference::kParameterNames[k];
      }
    }
  }
}

struct SingleLayer {
  explicit SingleLayer(const LayerSpec& spec, const Parameters<double>& p,
                       const FeedbackConfig& feedback = feedback_of("bptt"))
      : layer(table, "", make_cell(spec.kind, spec.reset, spec.input, spec.hidden),
              make_feedback(feedback, spec.state(), 1, "diagonal")),
        tape(layer.make_tape()),
        weights(table) {
    const std::span<float> flat = weights.mutable_span();
    for (std::size_t k = 0; k < 4; ++k) {
      std::copy(p[k].values.begin(), p[k].values.end(),
                flat.begin() + table.entries()[k].id.offset);
    }
  }
  Grid<float> forward(const PackedLayout& layout, ConstMatrixF x, MatrixF state) {
    Grid<float> y(x.rows, layer.output_width());
    layer.forward(weights, layout, x, state, *tape, y.view());
    return y;
  }

  ParameterTable table;
  RecurrentLayer layer;
  std::unique_ptr<MixerTape> tape;
  ParameterValues weights;
};

LayerSpec spec_of(const CellCase& cell, dim_t input, dim_t hidden) {
  return {cell.kind, cell.reset, input, hidden};
}

// Six steps at once, or three and three with the state handed on. A step is the same GEMM on the
// same rows either way; only W x is computed over a different number of rows, which may change the
// order of its sums: rounding of float, a few units.
TEST_P(RecurrentLayerCells, CarriedStateContinuesTheSequence) {
  Rng rng(8);
  const LayerSpec spec = spec_of(GetParam(), 7, 13);
  SingleLayer single(spec, reference::random_parameters(spec, rng));
  const Grid<float> x(reference::random_grid(6 * 4, 7, 1.0, rng));
  Grid<float> state(4, spec.state());
  const Grid<float> whole = single.forward(PackedLayout::uniform(6, 4), x.view(), state.view());

  Grid<float> carried(4, spec.state());
  Grid<double> halves(24, spec.state());
  for (const dim_t begin : {0, 12}) {
    const Grid<float> half = single.forward(PackedLayout::uniform(3, 4),
                                            x.view().middle_rows(begin, 12), carried.view());
    for (dim_t i = 0; i < 12; ++i) {
      for (dim_t j = 0; j < half.cols; ++j) halves(begin + i, j) = static_cast<double>(half(i, j));
    }
  }
  EXPECT_LT(reference::relative_error(halves, Grid<double>(whole)), 20 * 6e-8);
  EXPECT_LT(reference::relative_error(Grid<double>(carried), Grid<double>(state)), 20 * 6e-8);
}

TEST_P(RecurrentLayerCells, StateReturnsTheLastRowOfEachSequence) {
  Rng rng(9);
  const LayerSpec spec = spec_of(GetParam(), 3, 5);
  SingleLayer single(spec, reference::random_parameters(spec, rng));
  const PackedLayout layout({4, 2, 1});
  const Grid<float> x(reference::random_grid(7, 3, 1.0, rng));
  Grid<float> state(4, spec.state());
  const Grid<float> y = single.forward(layout, x.view(), state.view());
  EXPECT_EQ(state.row(0), y.row(6));
  EXPECT_EQ(state.row(1), y.row(5));
  EXPECT_EQ(state.row(2), y.row(2));
  EXPECT_EQ(state.row(3), y.row(3));
}

TEST_P(RecurrentLayerCells, EmptyStateStartsFromZero) {
  Rng rng(10);
  const LayerSpec spec = spec_of(GetParam(), 3, 5);
  SingleLayer single(spec, reference::random_parameters(spec, rng));
  const PackedLayout layout({4, 2, 1});
  const Grid<float> x(reference::random_grid(7, 3, 1.0, rng));
  Grid<float> zero(4, spec.state());
  const Grid<float> expected = single.forward(layout, x.view(), zero.view());
  EXPECT_EQ(single.forward(layout, x.view(), MatrixF()).values, expected.values);
}

// Backward turns the tape's gates into gradients: a second pass over them would be wrong.
TEST_P(RecurrentLayerCells, SecondBackwardIsRefused) {
  Rng rng(11);
  const LayerSpec spec = spec_of(GetParam(), 3, 5);
  SingleLayer single(spec, reference::random_parameters(spec, rng));
  const PackedLayout layout({2, 1});
  const Grid<float> x(reference::random_grid(3, 3, 1.0, rng));
  Grid<float> dy(3, spec.state());
  Grid<float> dx(3, 3);
  Buffer<float> gradients(single.table.flat_size());
  const auto backward = [&] {
    single.layer.backward(layout, x.view(), *single.tape, dy.view(), dx.view(), {gradients.data()});
  };
  EXPECT_THROW(backward(), Error);
  single.forward(layout, x.view(), MatrixF());
  EXPECT_NO_THROW(backward());
  EXPECT_THROW(backward(), Error);
}

TEST_P(RecurrentLayerCells, InputGradientMayReplaceTheInput) {
  Rng rng(12);
  const LayerSpec spec = spec_of(GetParam(), 6, 5);
  const PackedLayout layout({3, 2});
  const Grid<float> x(reference::random_grid(5, 6, 1.0, rng));
  const Grid<float> e(reference::random_grid(5, spec.state(), 1.0, rng));
  SingleLayer single(spec, reference::random_parameters(spec, rng));
  const auto run = [&](Grid<float>& input, MatrixF dx) {
    single.forward(layout, input.view(), MatrixF());
    Grid<float> dy = e;
    std::vector<float> gradients(static_cast<std::size_t>(single.table.flat_size()));
    single.layer.backward(layout, input.view(), *single.tape, dy.view(), dx, {gradients.data()});
    return gradients;
  };
  Grid<float> apart = x;
  Grid<float> dx(5, 6);
  const std::vector<float> expected = run(apart, dx.view());
  Grid<float> replaced = x;
  EXPECT_EQ(run(replaced, replaced.view()), expected);
  EXPECT_EQ(replaced.values, dx.values);
}

// The second pass adds to the first: rounding of one addition, and of sums that start elsewhere.
TEST_P(RecurrentLayerCells, ParameterGradientsAccumulate) {
  Rng rng(13);
  const LayerSpec spec = spec_of(GetParam(), 6, 5);
  const PackedLayout layout({3, 2});
  const Grid<float> x(reference::random_grid(5, 6, 1.0, rng));
  const Grid<float> e(reference::random_grid(5, spec.state(), 1.0, rng));
  SingleLayer single(spec, reference::random_parameters(spec, rng));
  Grid<float> gradients(1, single.table.flat_size());
  const auto run = [&] {
    single.forward(layout, x.view(), MatrixF());
    Grid<float> dy = e;
    Grid<float> dx(5, 6);
    single.layer.backward(layout, x.view(), *single.tape, dy.view(), dx.view(),
                          {gradients.values.data()});
    return Grid<double>(gradients);
  };
  Grid<double> twice = run();
  for (double& value : twice.values) value *= 2.0;
  EXPECT_LT(reference::relative_error(run(), twice), 10 * 6e-8);
}

TEST(RecurrentLayer, NamesAndShapesArePyTorchs) {
  ParameterTable table;
  const auto layer =
      make_recurrent_layer(table, "blocks.0.mixer.", "gru", "after", 7, 5, feedback_of("dsf"), 1);
  ASSERT_EQ(table.entries().size(), 4U);
  EXPECT_EQ(table.entries()[0].name, "blocks.0.mixer.weight_ih");
  EXPECT_EQ(table.entries()[1].name, "blocks.0.mixer.weight_hh");
  EXPECT_EQ(table.entries()[2].name, "blocks.0.mixer.bias_ih");
  EXPECT_EQ(table.entries()[3].name, "blocks.0.mixer.bias_hh");
  EXPECT_EQ(table.entries()[0].id.rows, 15);
  EXPECT_EQ(table.entries()[0].id.cols, 7);
  EXPECT_EQ(table.entries()[1].id.rows, 15);
  EXPECT_EQ(table.entries()[1].id.cols, 5);
  EXPECT_EQ(table.entries()[2].id.size(), 15);
  EXPECT_TRUE(table.entries()[2].vector);
  for (const ParameterInfo& entry : table.entries()) {
    EXPECT_EQ(entry.init.kind, Init::Kind::uniform);
    EXPECT_FLOAT_EQ(entry.init.scale, 1.0F / std::sqrt(5.0F));
  }
  const std::vector<NamedBuffer> buffers = layer->buffers();
  ASSERT_EQ(buffers.size(), 1U);
  EXPECT_EQ(buffers[0].name, "blocks.0.mixer.feedback.diagonal");
  EXPECT_EQ(buffers[0].values.size(), 5U);
}

TEST(RecurrentLayer, LstmOutputsBothHalvesOfItsState) {
  ParameterTable table;
  const auto layer = make_recurrent_layer(table, "", "lstm", "after", 7, 5, feedback_of("dsf"), 1);
  EXPECT_EQ(layer->output_width(), 10);
  EXPECT_EQ(layer->state_width(), 10);
  EXPECT_EQ(layer->buffers()[0].values.size(), 10U);
  EXPECT_EQ(table.entries()[0].id.rows, 20);
}

TEST(RecurrentLayer, LayersDrawDifferentDiagonals) {
  ParameterTable table;
  const auto first = make_recurrent_layer(table, "0.", "gru", "after", 5, 5, feedback_of("dsf"), 1);
  const auto again = make_recurrent_layer(table, "0.", "gru", "after", 5, 5, feedback_of("dsf"), 1);
  const auto other = make_recurrent_layer(table, "1.", "gru", "after", 5, 5, feedback_of("dsf"), 1);
  const auto values = [](RecurrentLayer& layer) {
    const std::span<float> a = layer.buffers()[0].values;
    return std::vector<float>(a.begin(), a.end());
  };
  EXPECT_EQ(values(*first), values(*again));
  EXPECT_NE(values(*first), values(*other));
}

TEST(RecurrentLayer, UnknownNamesAreRefused) {
  ParameterTable table;
  EXPECT_THROW(make_recurrent_layer(table, "", "gruu", "after", 5, 5, feedback_of("dsf"), 1),
               ConfigError);
  EXPECT_THROW(make_recurrent_layer(table, "", "gru", "between", 5, 5, feedback_of("dsf"), 1),
               ConfigError);
  EXPECT_THROW(make_recurrent_layer(table, "", "gru", "after", 5, 5, feedback_of("rtrl"), 1),
               ConfigError);
}

}  // namespace
}  // namespace dsf
