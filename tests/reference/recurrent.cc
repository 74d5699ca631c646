#include "tests/reference/recurrent.h"

#include <cmath>

#include "tests/reference/low_rank.h"

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

namespace {

bool is_candidate(const LayerSpec& spec, dim_t row_of_U) {
  return row_of_U / spec.hidden == (spec.kind == CellKind::rnn ? 0 : 2);
}

}  // namespace

Grid<double> kept_of(const LayerSpec& spec, const Grid<double>& U, Kept kept) {
  Grid<double> result(U.rows, U.cols);
  for (dim_t k = 0; k < U.rows; ++k) {
    for (dim_t i = 0; i < U.cols; ++i) {
      const bool stays = (kept == Kept::candidate && is_candidate(spec, k)) ||
                         (kept == Kept::diagonal && k % spec.hidden == i);
      if (stays) result(k, i) = U(k, i);
    }
  }
  return result;
}

Parameters<double> frozen_parameters(const LayerSpec& spec, const Parameters<double>& p,
                                     const std::vector<double>& x, const std::vector<double>& at,
                                     const Grid<double>& replacement) {
  Parameters<double> frozen = p;
  const auto& [W, U, b_ih, b_hh] = p;
  const dim_t D = spec.hidden;
  const auto place = [](dim_t j) { return static_cast<std::size_t>(j); };
  // What each recurrent matrix multiplies: h, but the reset h in a candidate that resets before.
  std::vector<double> reset_h(at.begin(), at.begin() + D);
  if (spec.kind == CellKind::gru && spec.reset == GruReset::before) {
    for (dim_t j = 0; j < D; ++j) {
      double sum = b_ih(0, j) + b_hh(0, j);
      for (dim_t i = 0; i < spec.input; ++i) sum += W(j, i) * x[place(i)];
      for (dim_t i = 0; i < D; ++i) sum += U(j, i) * at[place(i)];
      reset_h[place(j)] *= sigmoid(sum);
    }
  }
  for (dim_t k = 0; k < spec.gates() * D; ++k) {
    const std::vector<double>& multiplied = is_candidate(spec, k) ? reset_h : at;
    for (dim_t i = 0; i < D; ++i) {
      frozen[3](0, k) += (U(k, i) - replacement(k, i)) * multiplied[place(i)];
    }
  }
  frozen[1] = replacement;
  return frozen;
}

namespace {

// A row's cell and what goes into it, ready for derivatives.
struct Row {
  const LayerSpec& spec;
  std::vector<double> x;
  std::vector<double> before;

  // g df/ds_{t-1} of the cell with parameters p
  std::vector<double> state_product(const Parameters<double>& p,
                                    const std::vector<double>& g) const {
    const Parameters<Complex> fixed = cast<Complex>(p);
    const std::vector<Complex> input = to_complex(x);
    std::vector<Complex> previous = to_complex(before);
    std::vector<double> product;
    for (std::size_t j = 0; j < previous.size(); ++j) {
      product.push_back(
          pulled_back(g, previous[j], [&] { return cell_step(spec, fixed, input, previous); }));
    }
    return product;
  }
  // The same with the J whose recurrent matrices are others
  std::vector<double> replaced_product(const Parameters<double>& p, const Grid<double>& replacement,
                                       const std::vector<double>& g) const {
    return state_product(frozen_parameters(spec, p, x, before, replacement), g);
  }
  // g D, the own path alone
  std::vector<double> own_product(const Parameters<double>& p, const std::vector<double>& g,
                                  bool diagonal) const {
    const Kept kept = diagonal || spec.kind == CellKind::rnn ? Kept::diagonal : Kept::none;
    return replaced_product(p, kept_of(spec, p[1], kept), g);
  }
  // g J; by the candidate alone: with the gates held
  std::vector<double> whole_product(const Parameters<double>& p, const std::vector<double>& g,
                                    RestPath path) const {
    if (path == RestPath::all) return state_product(p, g);
    return replaced_product(p, kept_of(spec, p[1], Kept::candidate), g);
  }
};

std::vector<double> times(const std::vector<double>& a, const std::vector<double>& g) {
  std::vector<double> product;
  for (std::size_t j = 0; j < g.size(); ++j) product.push_back(a[j] * g[j]);
  return product;
}

// g D  ->  g D + a (g - g D)
void hold_more(const std::vector<double>& a, const std::vector<double>& g,
               std::vector<double>& own) {
  for (std::size_t j = 0; j < own.size(); ++j) own[j] += a[j] * (g[j] - own[j]);
}

void add_row(const std::vector<double>& values, dim_t row, Grid<double>& grid) {
  for (dim_t j = 0; j < grid.cols; ++j) grid(row, j) += values[static_cast<std::size_t>(j)];
}

Row row_at(const LayerSpec& spec, const PackedLayout& layout, const Grid<double>& x,
           const Grid<double>& initial, const Grid<double>& states, dim_t t, dim_t b) {
  return {spec, x.row(layout.offset(t) + b),
          t == 0 ? initial.row(b) : states.row(layout.offset(t - 1) + b)};
}

// dx and the parameters' gradients, when g is known.
LayerGradients local_gradients(const LayerSpec& spec, const Parameters<double>& p,
                               const PackedLayout& layout, const Grid<double>& x,
                               const Grid<double>& initial, const Grid<double>& states,
                               const Grid<double>& g) {
  Parameters<Complex> moved = cast<Complex>(p);
  LayerGradients result{Grid<double>(x.rows, x.cols), zero_parameters(spec), g};
  for (dim_t t = 0; t < layout.steps(); ++t) {
    for (dim_t b = 0; b < layout.rows_at(t); ++b) {
      const dim_t row = layout.offset(t) + b;
      const std::vector<double> g_row = g.row(row);
      const Row here = row_at(spec, layout, x, initial, states, t, b);
      std::vector<Complex> input = to_complex(here.x);
      const std::vector<Complex> previous = to_complex(here.before);
      const auto step = [&] { return cell_step(spec, moved, input, previous); };
      for (std::size_t k = 0; k < p.size(); ++k) {
        for (std::size_t i = 0; i < p[k].values.size(); ++i) {
          result.parameters[k].values[i] += pulled_back(g_row, moved[k].values[i], step);
        }
      }
      for (dim_t j = 0; j < spec.input; ++j) {
        result.dx(row, j) = pulled_back(g_row, input[static_cast<std::size_t>(j)], step);
      }
    }
  }
  return result;
}

}  // namespace

LayerGradients layer_backward(const LayerSpec& spec, const Parameters<double>& p,
                              const PackedLayout& layout, const Grid<double>& x,
                              const Grid<double>& initial, const Grid<double>& e, Method method,
                              const std::vector<double>& a) {
  const Grid<double> states = layer_forward(spec, p, layout, x, initial);
  Grid<double> g = e;
  for (dim_t t = layout.steps() - 1; t > 0 && method != Method::ft; --t) {
    for (dim_t b = 0; b < layout.rows_at(t); ++b) {
      const std::vector<double> g_row = g.row(layout.offset(t) + b);
      const Row here = row_at(spec, layout, x, initial, states, t, b);
      std::vector<double> sent = method == Method::bptt ? here.state_product(p, g_row)
                                 : method == Method::dsf
                                     ? times(a, g_row)
                                     : here.own_product(p, g_row, method == Method::gated_diagonal);
      if (method == Method::gated_dsf) hold_more(a, g_row, sent);
      add_row(sent, layout.offset(t - 1) + b, g);
    }
  }
  return local_gradients(spec, p, layout, x, initial, states, g);
}

namespace {

Grid<double> low_rank_blocks(const LayerSpec& spec, const Grid<double>& U, dim_t rank) {
  if (spec.kind != CellKind::gru) return low_rank(U, rank);
  const dim_t D = spec.hidden;
  Grid<double> result = U;
  const auto replace = [&](dim_t begin, dim_t count) {
    Grid<double> block(count, D);
    for (dim_t k = 0; k < count; ++k) block.set_row(k, U.row(begin + k));
    block = low_rank(block, rank);
    for (dim_t k = 0; k < count; ++k) result.set_row(begin + k, block.row(k));
  };
  replace(0, 2 * D);
  if (spec.reset == GruReset::after) replace(2 * D, D);
  return result;
}

}  // namespace

LayerGradients layer_backward_rank(const LayerSpec& spec, const Parameters<double>& p,
                                   const PackedLayout& layout, const Grid<double>& x,
                                   const Grid<double>& initial, const Grid<double>& e, dim_t rank) {
  const Grid<double> replacement = low_rank_blocks(spec, p[1], rank);
  const Grid<double> states = layer_forward(spec, p, layout, x, initial);
  Grid<double> g = e;
  for (dim_t t = layout.steps() - 1; t > 0; --t) {
    for (dim_t b = 0; b < layout.rows_at(t); ++b) {
      const Row here = row_at(spec, layout, x, initial, states, t, b);
      add_row(here.replaced_product(p, replacement, g.row(layout.offset(t) + b)),
              layout.offset(t - 1) + b, g);
    }
  }
  return local_gradients(spec, p, layout, x, initial, states, g);
}

LayerGradients layer_backward_iterated(const LayerSpec& spec, const Parameters<double>& p,
                                       const PackedLayout& layout, const Grid<double>& x,
                                       const Grid<double>& initial, const Grid<double>& e,
                                       dim_t corrections, RestPath path,
                                       const std::vector<double>& a) {
  const Grid<double> states = layer_forward(spec, p, layout, x, initial);
  Grid<double> source = e;
  Grid<double> g;
  for (dim_t i = 0; i <= corrections; ++i) {
    g = source;
    source = e;
    for (dim_t t = layout.steps() - 1; t > 0; --t) {
      for (dim_t b = 0; b < layout.rows_at(t); ++b) {
        const std::vector<double> g_row = g.row(layout.offset(t) + b);
        const Row here = row_at(spec, layout, x, initial, states, t, b);
        std::vector<double> own = here.own_product(p, g_row, false);
        std::vector<double> rest = here.whole_product(p, g_row, path);
        for (std::size_t j = 0; j < rest.size(); ++j) rest[j] -= own[j];
        if (i == 0) hold_more(a, g_row, own);
        add_row(own, layout.offset(t - 1) + b, g);
        add_row(rest, layout.offset(t - 1) + b, source);
      }
    }
  }
  return local_gradients(spec, p, layout, x, initial, states, g);
}

LayerGradients layer_backward_windows(const LayerSpec& spec, const Parameters<double>& p,
                                      const PackedLayout& layout, const Grid<double>& x,
                                      const Grid<double>& initial, const Grid<double>& e,
                                      dim_t window, RestPath path) {
  const Grid<double> states = layer_forward(spec, p, layout, x, initial);
  Grid<double> g = e;
  Grid<double> q = e;
  for (dim_t t = layout.steps() - 1; t > 0; --t) {
    for (dim_t b = 0; b < layout.rows_at(t); ++b) {
      const dim_t row = layout.offset(t) + b;
      const dim_t before = layout.offset(t - 1) + b;
      if ((t + 1) % window == 0) q.set_row(row, g.row(row));
      const Row here = row_at(spec, layout, x, initial, states, t, b);
      const std::vector<double> own_of_q = here.own_product(p, q.row(row), false);
      std::vector<double> rest = here.whole_product(p, q.row(row), path);
      for (std::size_t j = 0; j < rest.size(); ++j) rest[j] -= own_of_q[j];
      add_row(here.own_product(p, g.row(row), false), before, g);
      add_row(rest, before, g);
      add_row(own_of_q, before, q);
    }
  }
  return local_gradients(spec, p, layout, x, initial, states, g);
}

}  // namespace dsf::reference
