#pragma once

// Runs the library's recurrent layers on the stacks of tests/reference/stack.h.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dsf/layers/recurrent.h"
#include "tests/reference/cell_problem.h"
#include "tests/reference/feedback_definition.h"
#include "tests/reference/stack.h"
#include "tests/support/every_feedback.h"

namespace dsf::testing {

using reference::CellCase;
using reference::kAllCells;

inline FeedbackConfig feedback_of(const std::string& method, const std::string& scan = "auto") {
  FeedbackConfig config;
  config.method = method;
  config.scan = parse_choice<DiagonalForm>("feedback.scan", scan);
  return config;
}

/// The same; what learns does so from the first batch, and from every second one after it.
inline FeedbackConfig soon_learning_feedback(const std::string& method) {
  FeedbackConfig config = feedback_of(method);
  config.calibration = 1;
  config.refit_every = 2;
  return config;
}

struct FastResult {
  reference::Grid<double> y;  ///< the last layer's output
  std::vector<reference::Grid<double>> last_states;
  reference::StackGradients gradients;

  /// Everything in one row, to compare two runs to the bit.
  std::vector<double> flat() const {
    std::vector<double> all;
    const auto append = [&all](const reference::Grid<double>& grid) {
      all.insert(all.end(), grid.values.begin(), grid.values.end());
    };
    append(y);
    append(gradients.dx);
    for (const auto& state : last_states) append(state);
    for (const auto& layer : gradients.parameters) {
      for (const auto& grid : layer) append(grid);
    }
    return all;
  }
};

/// The library's layers in place of the reference's, everything else the same.
class FastStack {
 public:
  /// `shared_work`: what all layers rebuild their gates in; null: they keep them.
  FastStack(const reference::Stack& stack, const FeedbackConfig& feedback, Precision precision,
            const std::shared_ptr<CellWork>& shared_work = nullptr)
      : stack_(stack) {
    for (std::size_t l = 0; l < stack.layers.size(); ++l) {
      const reference::LayerSpec& spec = stack.layers[l];
      auto cell = make_cell(spec.kind, spec.reset, spec.input, spec.hidden);
      layers_.push_back(std::make_unique<RecurrentLayer>(
          table_, "layer" + std::to_string(l) + ".", std::move(cell),
          make_feedback(feedback, spec.state(), 1, "diagonal")));
      if (shared_work) layers_.back()->rebuild_gates_in(shared_work);
      for (const NamedBuffer& buffer : layers_.back()->buffers()) {
        if (!is_diagonal(buffer)) continue;
        for (std::size_t j = 0; j < buffer.values.size(); ++j) {
          buffer.values[j] = static_cast<float>(stack.diagonals[l][j]);
        }
      }
      tapes_.push_back(layers_.back()->make_tape());
    }
    weights_.emplace(table_, precision);
    gradients_.resize(table_.flat_size());
    const std::span<float> weights = weights_->mutable_span();
    for (std::size_t i = 0; i < table_.entries().size(); ++i) {
      const auto& values = stack.parameters[i / 4][i % 4].values;
      std::copy(values.begin(), values.end(), weights.begin() + table_.entries()[i].id.offset);
    }
  }

  const ParameterTable& table() const { return table_; }

  /// All numbers of the feedbacks' buffers, in one row.
  std::vector<float> feedback_numbers() {
    std::vector<float> numbers;
    for_each_buffer([&](std::size_t /*layer*/, const NamedBuffer& buffer) {
      numbers.insert(numbers.end(), buffer.values.begin(), buffer.values.end());
    });
    return numbers;
  }
  void set_feedback_numbers(const std::vector<float>& numbers) {
    auto from = numbers.begin();
    for_each_buffer([&](std::size_t /*layer*/, const NamedBuffer& buffer) {
      const auto end = from + static_cast<std::ptrdiff_t>(buffer.values.size());
      std::copy(from, end, buffer.values.begin());
      from = end;
    });
  }
  /// What the feedback of each layer carries, by its definition.
  std::vector<reference::Carry> definitions(const std::string& method) {
    std::vector<reference::Carry> carries;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      carries.push_back(reference::definition_of(method, stack_.layers[l], layers_[l]->buffers()));
    }
    return carries;
  }
  /// a of each layer, as Stack::diagonals has it.
  std::vector<std::vector<double>> diagonals() {
    std::vector<std::vector<double>> all(layers_.size());
    for_each_buffer([&](std::size_t layer, const NamedBuffer& buffer) {
      if (is_diagonal(buffer)) all[layer].assign(buffer.values.begin(), buffer.values.end());
    });
    return all;
  }

  FastResult run() { return run(stack_); }

  /// Forward and backward of the whole stack on the batch of `batch`, a stack of the same
  /// parameters.
  FastResult run(const reference::Stack& batch) {
    using reference::Grid;
    const auto float_of = [](const Grid<double>& m) { return Grid<float>(m); };
    std::vector<Grid<float>> inputs = {float_of(batch.x)};
    FastResult result;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      Grid<float> state = float_of(batch.initial[l]);
      Grid<float> s(batch.x.rows, layers_[l]->output_width());
      layers_[l]->forward(*weights_, batch.layout, inputs.back().view(), state.view(), *tapes_[l],
                          s.view());
      result.last_states.emplace_back(state);
      Grid<double> y = reference::apply_map(batch.maps[l], Grid<double>(s));
      if (batch.skip) add_to(Grid<double>(inputs.back()), y);
      inputs.push_back(float_of(y));
    }
    result.y = Grid<double>(inputs.back());

    Grid<double> dy = batch.c;
    for (std::size_t i = 0; i < dy.values.size(); ++i) {
      dy.values[i] += batch.q.values[i] * result.y.values[i];
    }
    gradients_.resize(table_.flat_size());  // zeros
    for (std::size_t l = layers_.size(); l-- > 0;) {
      Grid<float> e = float_of(reference::apply_map(reference::transposed(batch.maps[l]), dy));
      Grid<float> dx(inputs[l].rows, inputs[l].cols);
      layers_[l]->backward(batch.layout, inputs[l].view(), *tapes_[l], e.view(), dx.view(),
                           {gradients_.data()});
      Grid<double> below(dx);
      if (batch.skip) add_to(dy, below);
      dy = below;
    }
    result.gradients = {dy, gradients()};
    return result;
  }

 private:
  static bool is_diagonal(const NamedBuffer& buffer) {
    return buffer.name.ends_with("feedback.diagonal");
  }
  template <typename Body>
  void for_each_buffer(const Body& body) {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      for (const NamedBuffer& buffer : layers_[l]->buffers()) body(l, buffer);
    }
  }
  static void add_to(const reference::Grid<double>& x, reference::Grid<double>& y) {
    for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += x.values[i];
  }
  std::vector<reference::Parameters<double>> gradients() const {
    std::vector<reference::Parameters<double>> all = stack_.parameters;
    for (std::size_t i = 0; i < table_.entries().size(); ++i) {
      auto& values = all[i / 4][i % 4].values;
      const float* from = gradients_.data() + table_.entries()[i].id.offset;
      std::copy(from, from + values.size(), values.begin());
    }
    return all;
  }

  const reference::Stack& stack_;
  ParameterTable table_;
  std::vector<std::unique_ptr<RecurrentLayer>> layers_;
  std::vector<std::unique_ptr<MixerTape>> tapes_;
  std::optional<ParameterValues> weights_;  // made when the table is complete
  Buffer<float> gradients_;
};

inline FastResult run_fast(const reference::Stack& stack, const FeedbackConfig& feedback,
                           Precision precision = Precision::f32) {
  return FastStack(stack, feedback, precision).run();
}

}  // namespace dsf::testing
