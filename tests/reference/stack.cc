#include "tests/reference/stack.h"

#include <cmath>

namespace dsf::reference {
namespace {

Grid<double> identity(dim_t size) {
  Grid<double> m(size, size);
  for (dim_t i = 0; i < size; ++i) m(i, i) = 1.0;
  return m;
}

std::vector<Parameters<Complex>> to_complex(const std::vector<Parameters<double>>& parameters) {
  std::vector<Parameters<Complex>> result;
  for (const Parameters<double>& p : parameters) result.push_back(cast<Complex>(p));
  return result;
}

}  // namespace

Stack random_stack(CellKind kind, GruReset reset, dim_t layers, dim_t hidden,
                   const PackedLayout& layout, std::uint64_t seed) {
  Rng rng(seed);
  Stack stack;
  stack.layout = layout;
  stack.skip = layers > 1;
  const dim_t input = stack.skip ? hidden : hidden + 3;
  const dim_t N = layout.total_rows();
  for (dim_t l = 0; l < layers; ++l) {
    const LayerSpec spec{kind, reset, input, hidden};
    const dim_t S = spec.state();
    stack.layers.push_back(spec);
    stack.parameters.push_back(random_parameters(spec, rng));
    stack.maps.push_back(S == hidden ? identity(hidden) : random_grid(hidden, S, 0.5, rng));
    stack.initial.push_back(random_grid(layout.batch(), S, 0.5, rng));
    std::vector<double> a;
    for (dim_t j = 0; j < S; ++j) {
      a.push_back(static_cast<double>(static_cast<float>(rng.uniform())));
    }
    stack.diagonals.push_back(a);
  }
  stack.x = random_grid(N, input, 1.0, rng);
  stack.c = random_grid(N, hidden, 1.0, rng);
  stack.q = random_grid(N, hidden, 1.0, rng);
  return stack;
}

StackGradients stack_backward(const Stack& stack, const std::vector<Carry>& carries) {
  std::vector<Grid<double>> inputs = {stack.x};
  for (std::size_t l = 0; l < stack.layers.size(); ++l) {
    Grid<double> y =
        apply_map(stack.maps[l], layer_forward(stack.layers[l], stack.parameters[l], stack.layout,
                                               inputs.back(), stack.initial[l]));
    if (stack.skip) {
      for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += inputs.back().values[i];
    }
    inputs.push_back(y);
  }

  StackGradients result;
  result.parameters.resize(stack.layers.size());
  Grid<double> dy = stack.c;
  for (std::size_t i = 0; i < dy.values.size(); ++i) {
    dy.values[i] += stack.q.values[i] * inputs.back().values[i];
  }
  for (std::size_t l = stack.layers.size(); l-- > 0;) {
    const Grid<double>& map = stack.maps[l];
    Grid<double> e(dy.rows, map.cols);
    for (dim_t i = 0; i < dy.rows; ++i) {
      for (dim_t k = 0; k < map.cols; ++k) {
        for (dim_t j = 0; j < map.rows; ++j) e(i, k) += dy(i, j) * map(j, k);
      }
    }
    LayerGradients layer = layer_backward(
        {stack.layers[l], stack.parameters[l], stack.layout, inputs[l], stack.initial[l]}, e,
        carries[l]);
    result.parameters[l] = layer.parameters;
    if (stack.skip) {
      for (std::size_t i = 0; i < dy.values.size(); ++i) layer.dx.values[i] += dy.values[i];
    }
    dy = layer.dx;
  }
  result.dx = dy;
  return result;
}

StackGradients stack_backward(const Stack& stack, Method method, dim_t number) {
  std::vector<Carry> carries(stack.layers.size());
  for (std::size_t l = 0; l < carries.size(); ++l) {
    carries[l].method = method;
    carries[l].number = number;
    carries[l].a = stack.diagonals[l];
  }
  return stack_backward(stack, carries);
}

std::vector<Parameters<double>> complex_step_gradient(const Stack& stack) {
  std::vector<Parameters<Complex>> moved = to_complex(stack.parameters);
  std::vector<Parameters<double>> gradient = stack.parameters;
  for (std::size_t l = 0; l < moved.size(); ++l) {
    for (std::size_t k = 0; k < moved[l].size(); ++k) {
      for (std::size_t i = 0; i < moved[l][k].values.size(); ++i) {
        Complex& value = moved[l][k].values[i];
        const Complex kept = value;
        value += Complex(0.0, kComplexStep);
        gradient[l][k].values[i] = stack_loss(stack, moved).imag() / kComplexStep;
        value = kept;
      }
    }
  }
  return gradient;
}

double complex_step_derivative(const Stack& stack,
                               const std::vector<Parameters<double>>& direction) {
  std::vector<Parameters<Complex>> moved = to_complex(stack.parameters);
  for (std::size_t l = 0; l < moved.size(); ++l) {
    for (std::size_t k = 0; k < moved[l].size(); ++k) {
      for (std::size_t i = 0; i < moved[l][k].values.size(); ++i) {
        moved[l][k].values[i] += Complex(0.0, kComplexStep * direction[l][k].values[i]);
      }
    }
  }
  return stack_loss(stack, moved).imag() / kComplexStep;
}

}  // namespace dsf::reference
