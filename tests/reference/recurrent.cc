#include "tests/reference/recurrent.h"

#include <cmath>

namespace dsf::reference {
namespace {

std::vector<Complex> to_complex(const std::vector<double>& v) { return {v.begin(), v.end()}; }

// g df/dv, for one number v of the cell's arguments: `with_step` evaluates f with v moved by i h.
template <typename Evaluate>
double pulled_back(const std::vector<double>& g, Complex& v, const Evaluate& with_step) {
  const Complex kept = v;
  v += Complex(0.0, kComplexStep);
  const std::vector<Complex> state = with_step();
  v = kept;
  double sum = 0.0;
  for (std::size_t k = 0; k < g.size(); ++k) sum += g[k] * state[k].imag() / kComplexStep;
  return sum;
}

}  // namespace

Parameters<double> zero_parameters(const LayerSpec& spec) {
  const dim_t KD = spec.gates() * spec.hidden;
  return {Grid<double>(KD, spec.input), Grid<double>(KD, spec.hidden), Grid<double>(1, KD),
          Grid<double>(1, KD)};
}

Parameters<double> random_parameters(const LayerSpec& spec, Rng& rng) {
  Parameters<double> p = zero_parameters(spec);
  const double half_width = 1.0 / std::sqrt(static_cast<double>(spec.hidden));
  for (Grid<double>& grid : p) grid = random_grid(grid.rows, grid.cols, half_width, rng);
  return p;
}

LayerGradients layer_backward(const LayerSpec& spec, const Parameters<double>& p,
                              const PackedLayout& layout, const Grid<double>& x,
                              const Grid<double>& initial, const Grid<double>& e, Method method,
                              const std::vector<double>& a) {
  const Grid<double> states = layer_forward(spec, p, layout, x, initial);
  Parameters<Complex> moved = cast<Complex>(p);
  LayerGradients result{Grid<double>(x.rows, x.cols), zero_parameters(spec), e};

  for (dim_t t = layout.steps() - 1; t >= 0; --t) {
    for (dim_t b = 0; b < layout.rows_at(t); ++b) {
      const dim_t row = layout.offset(t) + b;
      const std::vector<double> g = result.g.row(row);
      const std::vector<double> before =
          t == 0 ? initial.row(b) : states.row(layout.offset(t - 1) + b);
      std::vector<Complex> input = to_complex(x.row(row));
      std::vector<Complex> previous = to_complex(before);
      const auto step = [&] { return cell_step(spec, moved, input, previous); };

      for (std::size_t k = 0; k < p.size(); ++k) {
        for (std::size_t i = 0; i < p[k].values.size(); ++i) {
          result.parameters[k].values[i] += pulled_back(g, moved[k].values[i], step);
        }
      }
      for (dim_t j = 0; j < spec.input; ++j) {
        result.dx(row, j) = pulled_back(g, input[static_cast<std::size_t>(j)], step);
      }
      if (t == 0 || method == Method::ft) continue;
      for (dim_t j = 0; j < spec.state(); ++j) {
        const auto place = static_cast<std::size_t>(j);
        result.g(layout.offset(t - 1) + b, j) +=
            method == Method::bptt ? pulled_back(g, previous[place], step) : a[place] * g[place];
      }
    }
  }
  return result;
}

}  // namespace dsf::reference
