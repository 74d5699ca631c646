#pragma once

// A small cell of the library with a batch for it, and the same for the slow definitions.

#include <memory>
#include <ostream>
#include <vector>

#include "dsf/cells/backward_pass.h"
#include "tests/reference/recurrent.h"

namespace dsf::reference {

struct CellCase {
  CellKind kind;
  GruReset reset;
  const char* name;
};
inline constexpr CellCase kAllCells[] = {
    {CellKind::rnn, GruReset::after, "rnn"},
    {CellKind::gru, GruReset::after, "gru_reset_after"},
    {CellKind::gru, GruReset::before, "gru_reset_before"},
    {CellKind::lstm, GruReset::after, "lstm"},
};
inline void PrintTo(const CellCase& cell, std::ostream* out) { *out << cell.name; }

/// Random numbers of one seed: parameters, inputs, initial states and errors.
struct CellProblem {
  static constexpr dim_t kInput = 3;

  CellProblem(const CellCase& cell, dim_t hidden, PackedLayout batch, std::uint64_t seed = 3)
      : spec{cell.kind, cell.reset, kInput, hidden}, layout(std::move(batch)) {
    Rng rng(seed);
    parameters = random_parameters(spec, rng);
    x = random_grid(layout.total_rows(), spec.input, 1.0, rng);
    initial = random_grid(layout.batch(), spec.state(), 0.5, rng);
    e = random_grid(layout.total_rows(), spec.state(), 1.0, rng);
  }

  LayerProblem slow() const { return {spec, parameters, layout, x, initial}; }

  LayerSpec spec;
  PackedLayout layout;
  Parameters<double> parameters;
  Grid<double> x;
  Grid<double> initial;
  Grid<double> e;
};

/// The library's cell of a problem; each backward pass follows a forward pass of its own.
class FastCell {
 public:
  explicit FastCell(const CellProblem& problem, JacobianUse use)
      : problem_(problem),
        cell_(make_cell(problem.spec.kind, problem.spec.reset, problem.spec.input,
                        problem.spec.hidden)),
        weights_(cast<float>(problem.parameters)),
        x_(problem.x) {
    cell_->prepare({weights_[0].view(), weights_[1].view(), weights_[2].values.data(),
                    weights_[3].values.data()},
                   Precision::f32, use);
  }

  struct Result {
    Grid<float> g;         ///< [N, S]
    Grid<float> initial;   ///< [B, S]
    std::vector<float> d;  ///< what the local backward left on the tape
  };
  /// From the problem's errors, by `way`(BackwardPass&).
  template <typename Way>
  Result back(const Way& way) {
    return back_from(Grid<float>(problem_.e), way);
  }
  template <typename Way>
  Result back_from(const Grid<float>& errors, const Way& way) {
    forward();
    Result result{errors, Grid<float>(problem_.layout.batch(), problem_.spec.state()), {}};
    BackwardPass pass(*cell_, problem_.layout, x_.view(), tape_, work_, result.g.view(),
                      result.initial.view());
    way(pass);
    const ConstMatrixF d = tape_.d;  // its rows have room behind the tape's columns
    for (dim_t i = 0; i < d.rows; ++i) {
      result.d.insert(result.d.end(), d.row(i), d.row(i) + cell_->shape().tape);
    }
    return result;
  }

  void forward() {
    Grid<float> state(problem_.initial);
    Grid<float> y(problem_.layout.total_rows(), problem_.spec.state());
    tape_ = CellTape::in(states_, work_.gates, cell_->shape(), problem_.layout);
    cell_->forward(problem_.layout, x_.view(), state.view(), tape_, work_, y.view());
  }
  const Cell& cell() const { return *cell_; }
  CellTape& tape() { return tape_; }
  CellWork& work() { return work_; }
  ConstMatrixF x() const { return x_.view(); }

 private:
  const CellProblem& problem_;
  std::unique_ptr<Cell> cell_;
  Parameters<float> weights_;
  Grid<float> x_;
  Matrix states_;
  CellWork work_;
  CellTape tape_;
};

}  // namespace dsf::reference
