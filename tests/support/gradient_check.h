#pragma once

// Compares a layer's values and gradients with a reference written as its forward equation:
//
//   fast f32 layer  <->  reference in double, differentiated by Var  <->  complex step
//
// An equation is a callable (NamedGrids<S> parameters, Grid<S> x) -> Grid<S> for any scalar S.

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "dsf/base/buffer.h"
#include "dsf/base/rng.h"
#include "dsf/layers/parameter.h"
#include "tests/reference/autodiff.h"
#include "tests/reference/reference_layers.h"

namespace dsf::testing {

/// Norm-wise relative error allowed to f32 layers. Sums of up to 10^4 terms with random rounding
/// errors lose about sqrt(10^4) epsilon = 6e-6, a few of them follow each other, and differences
/// (softmax, layer norm) magnify it by a small factor.
inline constexpr double kF32Tolerance = 3e-5;
/// Between two ways of differentiating the same double code: sqrt(10^4) epsilon is 1e-14.
inline constexpr double kDoubleTolerance = 1e-11;

using Values = reference::NamedGrids<double>;

inline ParameterValues random_weights(const ParameterTable& table, std::uint64_t seed) {
  constexpr double kDeviation = 0.3;  // large enough for every non-linearity to bend
  ParameterValues weights(table);
  const std::span<float> flat = weights.mutable_span();
  Rng rng(seed);
  for (const ParameterInfo& entry : table.entries()) {
    const double centre = entry.init.kind == Init::Kind::one ? 1.0 : 0.0;
    for (dim_t i = 0; i < entry.id.size(); ++i) {
      flat[static_cast<std::size_t>(entry.id.offset + i)] =
          static_cast<float>(centre + kDeviation * rng.normal());
    }
  }
  return weights;
}

inline reference::Grid<double> to_grid(ConstMatrixF m) {
  reference::Grid<double> grid(m.rows, m.cols);
  for (dim_t i = 0; i < m.rows; ++i) {
    for (dim_t j = 0; j < m.cols; ++j) grid(i, j) = static_cast<double>(m(i, j));
  }
  return grid;
}

/// The parameters (or gradients) of a flat buffer by name.
inline Values to_values(const ParameterTable& table, std::span<const float> flat) {
  Values values;
  for (const ParameterInfo& entry : table.entries()) {
    const ParameterId& id = entry.id;
    values[entry.name] = to_grid(ConstMatrixF(flat.data() + id.offset, id.rows, id.cols));
  }
  return values;
}
inline Values to_values(const ParameterTable& table, const Buffer<float>& gradients) {
  return to_values(table, gradients.span());
}
inline Values to_values(const ParameterTable& table, const ParameterValues& weights) {
  return to_values(table, weights.span());
}

template <typename S, typename Make>
reference::Grid<S> lift(const reference::Grid<double>& grid, const Make& make) {
  reference::Grid<S> lifted(grid.rows, grid.cols);
  for (std::size_t i = 0; i < grid.values.size(); ++i) lifted.values[i] = make(grid.values[i]);
  return lifted;
}

template <typename S, typename Make>
reference::NamedGrids<S> lift(const Values& values, const Make& make) {
  reference::NamedGrids<S> lifted;
  for (const auto& [name, grid] : values) lifted[name] = lift<S>(grid, make);
  return lifted;
}

template <typename S>
S inner_product(const reference::Grid<S>& y, const reference::Grid<double>& dy) {
  S sum = 0.0;
  for (std::size_t i = 0; i < y.values.size(); ++i) sum += y.values[i] * S(dy.values[i]);
  return sum;
}

/// Values and gradients of  loss = <y, dy>.
struct Derivatives {
  reference::Grid<double> y;
  reference::Grid<double> dx;
  Values parameters;
};

template <typename Equation>
Derivatives differentiate(const Equation& equation, const Values& parameters,
                          const reference::Grid<double>& x, const reference::Grid<double>& dy) {
  using reference::Var;
  Var::forget();
  const auto lifted = lift<Var>(parameters, Var::leaf);
  const auto lifted_x = lift<Var>(x, Var::leaf);
  const reference::Grid<Var> y = equation(lifted, lifted_x);
  const std::vector<double> adjoint = Var::gradients(inner_product(y, dy));
  const auto gradient_of = [&](const reference::Grid<Var>& grid) {
    reference::Grid<double> gradient(grid.rows, grid.cols);
    for (std::size_t i = 0; i < grid.values.size(); ++i) {
      gradient.values[i] = adjoint[grid.values[i].node()];
    }
    return gradient;
  };
  Derivatives result;
  result.y = reference::Grid<double>(y.rows, y.cols);
  for (std::size_t i = 0; i < y.values.size(); ++i) result.y.values[i] = y.values[i].value();
  result.dx = gradient_of(lifted_x);
  for (const auto& [name, grid] : lifted) result.parameters[name] = gradient_of(grid);
  return result;
}

/// The same gradients, one complex step an element.
template <typename Equation>
Derivatives complex_step(const Equation& equation, const Values& parameters,
                         const reference::Grid<double>& x, const reference::Grid<double>& dy) {
  using Complex = std::complex<double>;
  constexpr double kStep = 1e-100;
  const auto make = [](double value) { return Complex(value); };
  auto lifted = lift<Complex>(parameters, make);
  auto lifted_x = lift<Complex>(x, make);
  const auto gradient_of = [&](reference::Grid<Complex>& grid) {
    reference::Grid<double> gradient(grid.rows, grid.cols);
    for (std::size_t i = 0; i < grid.values.size(); ++i) {
      grid.values[i] += Complex(0.0, kStep);
      gradient.values[i] = inner_product(equation(lifted, lifted_x), dy).imag() / kStep;
      grid.values[i] -= Complex(0.0, kStep);
    }
    return gradient;
  };
  Derivatives result;
  result.dx = gradient_of(lifted_x);
  for (auto& [name, grid] : lifted) result.parameters[name] = gradient_of(grid);
  return result;
}

inline void expect_close(const std::string& what, const reference::Grid<double>& actual,
                         const reference::Grid<double>& expected,
                         double tolerance = kF32Tolerance) {
  ASSERT_EQ(actual.rows, expected.rows) << what;
  ASSERT_EQ(actual.cols, expected.cols) << what;
  EXPECT_GT(reference::norm(expected), 0.0) << what << ": nothing to compare";
  EXPECT_LE(reference::relative_error(actual, expected), tolerance) << what;
}

inline void expect_close(const Values& actual, const Values& expected,
                         double tolerance = kF32Tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, grid] : expected) {
    expect_close(name, actual.at(name), grid, tolerance);
  }
}

/// The reference's own gradients by both ways.
template <typename Equation>
void expect_consistent(const Equation& equation, const Values& parameters,
                       const reference::Grid<double>& x, const reference::Grid<double>& dy) {
  const Derivatives expected = complex_step(equation, parameters, x, dy);
  const Derivatives actual = differentiate(equation, parameters, x, dy);
  expect_close("dx", actual.dx, expected.dx, kDoubleTolerance);
  expect_close(actual.parameters, expected.parameters, kDoubleTolerance);
}

}  // namespace dsf::testing
