// What every mixer owes, whatever it computes: the recurrent layers, attention and the damped
// average, alone and inside both blocks.

#include <gtest/gtest.h>

#include <ostream>

#include "dsf/feedback/feedback_config.h"
#include "dsf/kernels/gemm_tiles.h"
#include "dsf/kernels/slices.h"
#include "dsf/layers/attention.h"
#include "dsf/layers/ema.h"
#include "dsf/layers/plain_block.h"
#include "dsf/layers/recurrent.h"
#include "dsf/layers/transformer_block.h"
#include "tests/support/every_mixer.h"
#include "tests/support/mixer_run.h"
#include "tests/support/thread_guard.h"

namespace dsf::testing {
namespace {

constexpr dim_t kWidth = 12;
constexpr float kDeviation = 0.02F;

std::unique_ptr<Mixer> make_mixer(const std::string& name, dim_t width, ParameterTable& table) {
  const std::string prefix = "mixer.";
  if (name == "attention") return std::make_unique<Attention>(table, prefix, width, 2, kDeviation);
  if (name == "ema") {
    return std::make_unique<Ema>(table, prefix, width, Ema::default_channels(width),
                                 Ema::kDefaultDims, kDeviation);
  }
  FeedbackConfig feedback;
  feedback.method = "bptt";
  const bool before = name == "gru_reset_before";
  return make_recurrent_layer(table, prefix, before ? "gru" : name, before ? "before" : "after",
                              width, width, feedback, 1);
}

struct Case {
  std::string mixer;
  std::string block;  // none | plain | transformer

  std::string name() const { return mixer + "_in_" + block; }
  friend void PrintTo(const Case& each, std::ostream* out) { *out << each.name(); }
};

// Lengths 9, 7, 7, 4, 1.
const PackedLayout kLayout({5, 4, 4, 4, 3, 3, 3, 1, 1});

std::unique_ptr<Mixer> make_block(const Case& each, dim_t width, ParameterTable& table) {
  std::unique_ptr<Mixer> mixer = make_mixer(each.mixer, width, table);
  if (each.block == "plain") {
    return std::make_unique<PlainBlock>(table, "", width, true, kDeviation, std::move(mixer));
  }
  if (each.block == "transformer") {
    return std::make_unique<TransformerBlock>(table, "", width, true, kDeviation, kDeviation,
                                              std::move(mixer));
  }
  return mixer;
}

class EveryMixerTest : public ::testing::TestWithParam<Case> {
 protected:
  reference::Grid<double> forward(const PackedLayout& layout, ConstMatrixF x, MatrixF state = {}) {
    const auto tape = mixer->make_tape();
    Matrix y(x.rows, mixer->output_width());
    mixer->forward(weights, layout, x, state, *tape, y);
    return to_grid(y);
  }

  // What one pass leaves for the other is f32 in every precision, so the two may differ in theirs:
  // backward takes the weights as the last forward pass packed them, whichever tape that one filled.
  MixerResult run_in(Precision forward_pass, Precision backward_pass) {
    const RandomMatrix x(kLayout.total_rows(), kWidth, 2);
    RandomMatrix error(kLayout.total_rows(), mixer->output_width(), 3);
    const auto tape = mixer->make_tape();
    Matrix y(x.view().rows, mixer->output_width());
    weights.set_precision(forward_pass);
    mixer->forward(weights, kLayout, x.view(), {}, *tape, y);
    weights.set_precision(backward_pass);
    forward(kLayout, x.view());
    Matrix dx(x.view().rows, kWidth);
    Buffer<float> gradients(table.flat_size());
    mixer->backward(kLayout, x.view(), *tape, error.view(), dx, {gradients.data()});
    return {to_grid(y), to_grid(dx), to_values(table, gradients), {}};
  }

  MixerResult run(Mixer& block, const ParameterValues& values) {
    const RandomMatrix x(kLayout.total_rows(), kWidth, 2);
    const RandomMatrix dy(kLayout.total_rows(), block.output_width(), 3);
    return run_mixer(block, table, values, kLayout, x.view(), dy.view());
  }
  /// By a mixer that has never seen other values.
  MixerResult run_fresh(const ParameterValues& values) {
    ParameterTable same_table;
    return run(*make_block(GetParam(), kWidth, same_table), values);
  }

  ParameterTable table;
  std::unique_ptr<Mixer> mixer = make_block(GetParam(), kWidth, table);
  ParameterValues weights = random_weights(table, 1);
};

TEST_P(EveryMixerTest, IsCausalAndKeepsSequencesApart) {
  RandomMatrix x(kLayout.total_rows(), kWidth, 2);
  const reference::Grid<double> before = forward(kLayout, x.view());
  for (const auto& [t, b] : {std::pair<dim_t, dim_t>{0, 0}, {3, 1}, {6, 2}, {8, 0}}) {
    RandomMatrix changed(kLayout.total_rows(), kWidth, 2);
    for (dim_t j = 0; j < kWidth; j += 2) {  // not all alike: layer norm would take it out again
      changed.view()(kLayout.offset(t) + b, j) += 1.0F;
    }
    const reference::Grid<double> after = forward(kLayout, changed.view());
    for (dim_t s = 0; s < kLayout.steps(); ++s) {
      for (dim_t c = 0; c < kLayout.rows_at(s); ++c) {
        const dim_t row = kLayout.offset(s) + c;
        const bool may_change = c == b && s >= t;
        EXPECT_EQ(before.row(row) == after.row(row), !may_change)
            << "token (" << t << ", " << b << ") changed, output (" << s << ", " << c << ")";
      }
    }
  }
}

static_assert(slice_rows(0, 1) == 1, "a batch without sequences has no slices, of some size");

TEST_P(EveryMixerTest, GivesTheSameBitsWithAnyNumberOfThreads) {
  // Large enough for products over all rows, walks through time and row-wise kernels to have
  // several tasks.
  constexpr dim_t kManyTasksWidth = 96;
  const PackedLayout layout = PackedLayout::uniform(70, 40);
  ASSERT_GT(choose_panel_tiles(layout.total_rows(), kManyTasksWidth, kManyTasksWidth).count(), 1);
  ASSERT_LT(slice_rows(layout.batch(), 3 * kManyTasksWidth * kManyTasksWidth), layout.batch());
  ParameterTable wide_table;
  const auto wide = make_block(GetParam(), kManyTasksWidth, wide_table);
  const ParameterValues wide_weights = random_weights(wide_table, 1);
  const RandomMatrix x(layout.total_rows(), kManyTasksWidth, 2);
  const RandomMatrix dy(layout.total_rows(), wide->output_width(), 3);
  for (const PackedLayout* each : {&kLayout, &layout}) {
    const dim_t rows = each->total_rows();
    EXPECT_TRUE(same_with_any_thread_count([&] {
      return run_mixer(*wide, wide_table, wide_weights, *each, x.view().middle_rows(0, rows),
                       dy.view().middle_rows(0, rows));
    }));
  }
}

TEST_P(EveryMixerTest, LeavesNothingOnTheTapeForTheNextBatch) {
  const PackedLayout large = PackedLayout::uniform(11, 6);
  const RandomMatrix x(large.total_rows(), kWidth, 2);
  const RandomMatrix dy(large.total_rows(), mixer->output_width(), 3);
  const auto reused = mixer->make_tape();
  for (const PackedLayout* layout : {&kLayout, &large, &kLayout}) {
    const ConstMatrixF x_rows = x.view().middle_rows(0, layout->total_rows());
    const ConstMatrixF dy_rows = dy.view().middle_rows(0, layout->total_rows());
    EXPECT_EQ(run_mixer(*mixer, table, weights, *layout, x_rows, dy_rows, {}, *reused),
              run_mixer(*mixer, table, weights, *layout, x_rows, dy_rows));
  }
}

TEST_P(EveryMixerTest, AccumulatesItsGradients) {
  const RandomMatrix x(kLayout.total_rows(), kWidth, 2);
  const RandomMatrix dy(kLayout.total_rows(), mixer->output_width(), 3);
  Values twice = run_mixer(*mixer, table, weights, kLayout, x.view(), dy.view()).parameters;
  for (auto& [name, grid] : twice) {
    for (double& value : grid.values) value *= 2.0;
  }
  Buffer<float> gradients(table.flat_size());
  const auto tape = mixer->make_tape();
  Matrix y(kLayout.total_rows(), mixer->output_width());
  Matrix dx(kLayout.total_rows(), kWidth);
  for (int pass = 0; pass < 2; ++pass) {
    RandomMatrix error(kLayout.total_rows(), mixer->output_width(), 3);
    mixer->forward(weights, kLayout, x.view(), {}, *tape, y);
    mixer->backward(kLayout, x.view(), *tape, error.view(), dx, {gradients.data()});
  }
  expect_close(to_values(table, gradients), twice);
}

TEST_P(EveryMixerTest, TakesChangedWeightsByItself) {
  const MixerResult before = run(*mixer, weights);
  for (float& weight : weights.mutable_span()) weight *= 0.5F;
  const MixerResult after = run(*mixer, weights);
  EXPECT_NE(after.y.values, before.y.values);
  EXPECT_EQ(after, run_fresh(weights));
}

TEST_P(EveryMixerTest, DoesNotMixTheWeightsOfTwoStores) {
  const ParameterValues others = random_weights(table, 4);
  const MixerResult expected = run_fresh(weights);
  const MixerResult expected_of_others = run_fresh(others);
  ASSERT_NE(expected.y.values, expected_of_others.y.values);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(run(*mixer, weights), expected);
    EXPECT_EQ(run(*mixer, others), expected_of_others);
  }
}

// A change behind the back of the store, which no version tells of, shows what a layer has packed.
// Vectors (biases, norms) are read from the store itself.
TEST_P(EveryMixerTest, PacksUnchangedWeightsOnce) {
  const RandomMatrix x(kLayout.total_rows(), kWidth, 2);
  const reference::Grid<double> before = forward(kLayout, x.view());
  auto* flat = const_cast<float*>(weights.span().data());
  for (const ParameterInfo& entry : table.entries()) {
    if (entry.vector) continue;
    for (dim_t i = 0; i < entry.id.size(); ++i) flat[entry.id.offset + i] *= 0.5F;
  }
  EXPECT_EQ(forward(kLayout, x.view()).values, before.values);
  weights.mutable_span();
  EXPECT_NE(forward(kLayout, x.view()).values, before.values);
}

TEST_P(EveryMixerTest, CarriesItsStateFromBatchToBatch) {
  if (mixer->state_width() == 0) GTEST_SKIP() << "no state to carry";
  constexpr dim_t kSteps = 8;
  constexpr dim_t kCut = 3;
  constexpr dim_t kBatch = 2;
  const RandomMatrix x(kSteps * kBatch, kWidth, 2);
  const reference::Grid<double> whole = forward(PackedLayout::uniform(kSteps, kBatch), x.view());

  Matrix state(kBatch, mixer->state_width());
  state.zero();
  const reference::Grid<double> first =
      forward(PackedLayout::uniform(kCut, kBatch), x.view().middle_rows(0, kCut * kBatch), state);
  const dim_t rest = kSteps - kCut;
  const reference::Grid<double> second =
      forward(PackedLayout::uniform(rest, kBatch),
              x.view().middle_rows(kCut * kBatch, rest * kBatch), state);
  std::vector<double> joined = first.values;
  joined.insert(joined.end(), second.values.begin(), second.values.end());
  reference::Grid<double> actual(whole.rows, whole.cols);
  actual.values = joined;
  expect_close("y", actual, whole);
}

// bf16 keeps 8 bits, so an operand is off by some 0.1 % of its norm, in ways that do not add up. A
// dozen products follow each other from the input to the gradients; layer norms magnify it a little.
TEST_P(EveryMixerTest, Bf16StaysWithinItsRounding) {
  constexpr double kTolerance = 0.02;
  const MixerResult exact = run_in(Precision::f32, Precision::f32);
  const MixerResult rounded = run_in(Precision::bf16, Precision::bf16);
  expect_close("y", rounded.y, exact.y, kTolerance);
  expect_close("dx", rounded.dx, exact.dx, kTolerance);
  expect_close(rounded.parameters, exact.parameters, kTolerance);
}

// Rounding of float alone would be below 1e-6.
TEST_P(EveryMixerTest, RoundsToBf16InBothPasses) {
  constexpr double kVisible = 1e-5;
  const MixerResult exact = run_in(Precision::f32, Precision::f32);
  const MixerResult rounded = run_in(Precision::bf16, Precision::bf16);
  EXPECT_GT(reference::relative_error(rounded.y, exact.y), kVisible);

  const MixerResult rounded_forward_only = run_in(Precision::bf16, Precision::f32);
  EXPECT_EQ(rounded_forward_only.y.values, rounded.y.values);
  EXPECT_GT(reference::relative_error(rounded.dx, rounded_forward_only.dx), kVisible);
  for (const ParameterInfo& entry : table.entries()) {
    const bool multiplied = !entry.vector && entry.name.find("weight") != std::string::npos;
    if (!multiplied) continue;
    EXPECT_GT(reference::relative_error(rounded.parameters.at(entry.name),
                                        rounded_forward_only.parameters.at(entry.name)),
              kVisible)
        << entry.name;
  }
}

std::vector<Case> every_case() {
  std::vector<Case> cases;
  for (const std::string& mixer : every_mixer()) {
    for (const char* block : {"none", "plain", "transformer"}) cases.push_back({mixer, block});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, EveryMixerTest, ::testing::ValuesIn(every_case()),
                         [](const auto& test) { return test.param.name(); });

}  // namespace
}  // namespace dsf::testing
