#pragma once

// A stack of recurrent layers with skip connections and a loss that depends on every row, for
// gradient tests:
//
//   x_{l+1} = x_l + M_l s_l         s_l: the states of layer l; M_l fixed, [D, S]
//   loss    = sum over rows and columns of  c y + q y^2 / 2,   y: the last layer's output
//
// Without skip connections x_{l+1} = M_l s_l.

#include <vector>

#include "tests/reference/grid_products.h"
#include "tests/reference/recurrent.h"

namespace dsf::reference {

struct Stack {
  std::vector<LayerSpec> layers;
  std::vector<Parameters<double>> parameters;  ///< one per layer
  std::vector<Grid<double>> maps;              ///< M, one per layer
  std::vector<Grid<double>> initial;           ///< [B, S], one per layer
  std::vector<std::vector<double>> diagonals;  ///< a, one per layer
  bool skip = true;
  PackedLayout layout;
  Grid<double> x;  ///< [N, I]
  Grid<double> c;  ///< [N, D]
  Grid<double> q;  ///< [N, D]
};

/// `layers` equal layers. One layer alone has no skip connection and I = D + 3; several have I = D.
/// M is the identity if S = D, else random.
Stack random_stack(CellKind kind, GruReset reset, dim_t layers, dim_t hidden,
                   const PackedLayout& layout, std::uint64_t seed);

template <typename T>
T stack_loss(const Stack& stack, const std::vector<Parameters<T>>& parameters) {
  Grid<T> x(stack.x);
  for (std::size_t l = 0; l < stack.layers.size(); ++l) {
    Grid<T> y = apply_map(stack.maps[l], layer_forward(stack.layers[l], parameters[l], stack.layout,
                                                       x, Grid<T>(stack.initial[l])));
    if (stack.skip) {
      for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += x.values[i];
    }
    x = y;
  }
  T loss(0.0);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    loss += stack.c.values[i] * x.values[i] + 0.5 * stack.q.values[i] * x.values[i] * x.values[i];
  }
  return loss;
}

struct StackGradients {
  Grid<double> dx;
  std::vector<Parameters<double>> parameters;
};

/// Layer by layer from the top; inside layer l, gradients go back in time as carries[l] says.
StackGradients stack_backward(const Stack& stack, const std::vector<Carry>& carries);
/// By the same method in all layers, with the stack's diagonals.
StackGradients stack_backward(const Stack& stack, Method method, dim_t number = 0);

/// The derivative of the loss by every parameter, one complex step each: no backward pass at all.
std::vector<Parameters<double>> complex_step_gradient(const Stack& stack);

/// The derivative of the loss along `direction`: one complex step for all parameters together.
double complex_step_derivative(const Stack& stack,
                               const std::vector<Parameters<double>>& direction);

}  // namespace dsf::reference
