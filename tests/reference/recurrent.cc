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
  // g D
  std::vector<double> diagonal_product(const Parameters<double>& p,
                                       const std::vector<double>& g) const {
    Grid<double> kept(p[1].rows, p[1].cols);
    for (dim_t j = 0; j < spec.hidden && spec.kind == CellKind::rnn; ++j) kept(j, j) = p[1](j, j);
    return replaced_product(p, kept, g);
  }
};

Row row_at(const LayerProblem& problem, const Grid<double>& states, dim_t t, dim_t b) {
  const PackedLayout& layout = problem.layout;
  return {problem.spec, problem.x.row(layout.offset(t) + b),
          t == 0 ? problem.initial.row(b) : states.row(layout.offset(t - 1) + b)};
}

Grid<double> states_of(const LayerProblem& problem) {
  return layer_forward(problem.spec, problem.parameters, problem.layout, problem.x,
                       problem.initial);
}

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

std::vector<double> times(const std::vector<double>& g, const Grid<double>& A) {
  std::vector<double> product(g.size());
  for (dim_t i = 0; i < A.rows; ++i) {
    for (dim_t j = 0; j < A.cols; ++j) {
      product[static_cast<std::size_t>(j)] += g[static_cast<std::size_t>(i)] * A(i, j);
    }
  }
  return product;
}

// kept + a (g - kept)
std::vector<double> with_diagonal(const std::vector<double>& a, const std::vector<double>& g,
                                  std::vector<double> kept) {
  for (std::size_t j = 0; j < kept.size(); ++j) kept[j] += a[j] * (g[j] - kept[j]);
  return kept;
}

// All methods but iterated, which carries two gradients. `low_rank_U`: read by low_rank alone.
std::vector<double> carried(const Row& row, const Parameters<double>& p, const Carry& carry,
                            const Grid<double>& low_rank_U, const std::vector<double>& g) {
  switch (carry.method) {
    case Method::ft:
      return std::vector<double>(g.size());
    case Method::dsf:
      return with_diagonal(carry.a, g, std::vector<double>(g.size()));
    case Method::gated:
      return row.diagonal_product(p, g);
    case Method::gated_dsf:
      return with_diagonal(carry.a, g, row.diagonal_product(p, g));
    case Method::low_rank:
      return row.replaced_product(p, low_rank_U, g);
    case Method::matrix:
      return times(g, carry.A);
    default:
      return row.state_product(p, g);
  }
}

// Adds `sent` to sequence b of the step before t, or to its initial state.
void add_before(const PackedLayout& layout, dim_t t, dim_t b, const std::vector<double>& sent,
                TotalGradients& total) {
  Grid<double>& to = t == 0 ? total.initial : total.g;
  const dim_t row = t == 0 ? b : layout.offset(t - 1) + b;
  for (dim_t j = 0; j < to.cols; ++j) to(row, j) += sent[static_cast<std::size_t>(j)];
}

template <typename Body>
void walk_back(const PackedLayout& layout, const Body& body) {
  for (dim_t t = layout.steps() - 1; t >= 0; --t) {
    for (dim_t b = 0; b < layout.rows_at(t); ++b) body(t, b);
  }
}

TotalGradients iterate(const LayerProblem& problem, const TotalGradients& errors,
                       const Grid<double>& states, dim_t corrections) {
  const Parameters<double>& p = problem.parameters;
  TotalGradients source = errors;
  TotalGradients total;
  for (dim_t i = 0; i <= corrections; ++i) {
    total = source;
    source = errors;
    walk_back(problem.layout, [&](dim_t t, dim_t b) {
      const std::vector<double> g = total.g.row(problem.layout.offset(t) + b);
      const Row row = row_at(problem, states, t, b);
      const std::vector<double> diagonal = row.diagonal_product(p, g);
      std::vector<double> off_diagonal = row.state_product(p, g);
      for (std::size_t j = 0; j < diagonal.size(); ++j) off_diagonal[j] -= diagonal[j];
      add_before(problem.layout, t, b, diagonal, total);
      add_before(problem.layout, t, b, off_diagonal, source);
    });
  }
  return total;
}

}  // namespace

TotalGradients total_gradients(const LayerProblem& problem, const Grid<double>& e,
                               const Carry& carry) {
  const Grid<double> states = states_of(problem);
  TotalGradients total{e, Grid<double>(problem.layout.batch(), e.cols)};
  if (carry.method == Method::iterated) return iterate(problem, total, states, carry.number);
  const Parameters<double>& p = problem.parameters;
  const Grid<double> low_rank_U = carry.method == Method::low_rank
                                      ? low_rank_blocks(problem.spec, p[1], carry.number)
                                      : Grid<double>();
  walk_back(problem.layout, [&](dim_t t, dim_t b) {
    const std::vector<double> g = total.g.row(problem.layout.offset(t) + b);
    add_before(problem.layout, t, b,
               carried(row_at(problem, states, t, b), p, carry, low_rank_U, g), total);
  });
  return total;
}

LayerGradients layer_backward(const LayerProblem& problem, const Grid<double>& e,
                              const Carry& carry) {
  const auto& [spec, p, layout, x, initial] = problem;
  const Grid<double> states = states_of(problem);
  Parameters<Complex> moved = cast<Complex>(p);
  LayerGradients result{Grid<double>(x.rows, x.cols), zero_parameters(spec),
                        total_gradients(problem, e, carry)};
  walk_back(layout, [&](dim_t t, dim_t b) {
    const dim_t row = problem.layout.offset(t) + b;
    const std::vector<double> g = result.total.g.row(row);
    const Row here = row_at(problem, states, t, b);
    std::vector<Complex> input = to_complex(here.x);
    const std::vector<Complex> previous = to_complex(here.before);
    const auto step = [&] { return cell_step(problem.spec, moved, input, previous); };
    for (std::size_t k = 0; k < moved.size(); ++k) {
      for (std::size_t i = 0; i < moved[k].values.size(); ++i) {
        result.parameters[k].values[i] += pulled_back(g, moved[k].values[i], step);
      }
    }
    for (dim_t j = 0; j < problem.spec.input; ++j) {
      result.dx(row, j) = pulled_back(g, input[static_cast<std::size_t>(j)], step);
    }
  });
  return result;
}

}  // namespace dsf::reference
