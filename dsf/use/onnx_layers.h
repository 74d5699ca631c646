#pragma once

// The layers of a model as ONNX operators: x and y are [time, batch, width], the state of one layer
// is [1, batch, S].

#include <map>
#include <string>
#include <vector>

#include "dsf/model/language_model.h"
#include "dsf/model/model_tensors.h"
#include "dsf/use/onnx_graph.h"

namespace dsf::onnx {

/// Names of what a mixer or a block hands out.
struct Mixed {
  std::string y;
  std::string state;
};

/// Adds layers to a graph; `prefix` says which parameters are theirs, as everywhere in the model.
class Layers {
 public:
  Layers(LanguageModel& model, GraphBuilder& graph);

  bool has(const std::string& parameter) const { return tensors_.contains(parameter); }
  dim_t state_width() const { return state_width_; }

  std::string embedding(const std::string& prefix, const std::string& tokens);
  std::string linear(const std::string& prefix, const std::string& x);
  std::string norm(const std::string& prefix, const std::string& x);
  /// GPT-2's tanh form (dsf/kernels/gelu.h).
  std::string gelu(const std::string& x);
  /// The layer that the model's configuration names.
  Mixed mixer(const std::string& prefix, const std::string& x, const std::string& state);

 private:
  Mixed operator_cell(const std::string& op, const std::vector<dim_t>& gates,
                      std::vector<Attribute> attributes, const std::string& prefix,
                      const std::string& x, const std::string& state);
  Mixed lstm(const std::string& prefix, const std::string& x, const std::string& state);
  Mixed ema(const std::string& prefix, const std::string& x, const std::string& state);
  /// `body` from state [batch, S] and the rows of x to the next state and a row of y.
  Mixed scan(Graph body, const std::string& x, const std::string& state);

  const ModelTensor& tensor(const std::string& name) const;
  std::string parameter(const std::string& name);
  /// The transpose of a matrix, which MatMul takes as its right operand.
  std::string transposed(const std::string& name);
  std::string silu(const std::string& x);

  const ModelConfig& config_;
  GraphBuilder& graph_;
  std::map<std::string, ModelTensor> tensors_;
  dim_t state_width_ = 0;
};

/// True if a call can hand what it knows of the text to the next one, so that Layers::mixer can build it.
constexpr bool has_state(MixerKind mixer) { return mixer != MixerKind::attention; }

}  // namespace dsf::onnx
