#pragma once

#include <memory>

#include "dsf/layers/mixer.h"
#include "tests/support/gradient_check.h"
#include "tests/support/random_matrix.h"

namespace dsf::testing {

/// Values and gradients of one forward and backward pass.
struct MixerResult {
  reference::Grid<double> y;
  reference::Grid<double> dx;
  Values parameters;              ///< gradients
  reference::Grid<double> state;  ///< at the end; empty if none was carried

  bool operator==(const MixerResult& other) const {
    const auto same = [](const Values& a, const Values& b) {
      for (const auto& [name, grid] : a) {
        if (grid.values != b.at(name).values) return false;
      }
      return a.size() == b.size();
    };
    return y.values == other.y.values && dx.values == other.dx.values &&
           state.values == other.state.values && same(parameters, other.parameters);
  }
};

/// One forward and backward pass over a tape. `initial` [B, state width], or empty.
inline MixerResult run_mixer(Mixer& mixer, const ParameterTable& table, Weights weights,
                             const PackedLayout& layout, ConstMatrixF x, ConstMatrixF dy,
                             ConstMatrixF initial, MixerTape& tape) {
  Matrix state(initial.rows, initial.cols);
  for (dim_t i = 0; i < initial.rows * initial.cols; ++i) state.view().data[i] = initial.data[i];
  Matrix y(x.rows, mixer.output_width());
  mixer.forward(weights, layout, x, initial.empty() ? MatrixF{} : state.view(), tape, y);

  Matrix error(dy.rows, dy.cols);  // backward may destroy it
  for (dim_t i = 0; i < dy.rows * dy.cols; ++i) error.view().data[i] = dy.data[i];
  Matrix dx(x.rows, x.cols);
  Buffer<float> gradients(table.flat_size());
  mixer.backward(layout, x, tape, error, dx, {gradients.data()});
  return {to_grid(y), to_grid(dx), to_values(table, gradients), to_grid(state)};
}

inline MixerResult run_mixer(Mixer& mixer, const ParameterTable& table, Weights weights,
                             const PackedLayout& layout, ConstMatrixF x, ConstMatrixF dy,
                             ConstMatrixF initial = {}) {
  const auto tape = mixer.make_tape();
  return run_mixer(mixer, table, weights, layout, x, dy, initial, *tape);
}

/// The mixer against its reference, and the reference against itself. `consistent` false leaves the
/// second out: one evaluation an element is for small shapes.
template <typename Equation>
void expect_matches(Mixer& mixer, const ParameterTable& table, const PackedLayout& layout,
                    dim_t width, const Equation& equation, bool consistent = true,
                    ConstMatrixF initial = {}) {
  const ParameterValues weights = random_weights(table, 11);
  const RandomMatrix x(layout.total_rows(), width, 12);
  const RandomMatrix dy(layout.total_rows(), mixer.output_width(), 13);
  const MixerResult actual = run_mixer(mixer, table, weights, layout, x.view(), dy.view(), initial);

  const Values parameters = to_values(table, weights);
  const Derivatives expected =
      differentiate(equation, parameters, to_grid(x.view()), to_grid(dy.view()));
  expect_close("y", actual.y, expected.y);
  expect_close("dx", actual.dx, expected.dx);
  expect_close(actual.parameters, expected.parameters);
  if (consistent) {
    expect_consistent(equation, parameters, to_grid(x.view()), to_grid(dy.view()));
  }
}

}  // namespace dsf::testing
