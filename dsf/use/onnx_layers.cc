#include "dsf/use/onnx_layers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/kernels/gates_gru.h"
#include "dsf/kernels/gates_lstm.h"
#include "dsf/kernels/layer_norm.h"

namespace dsf::onnx {
namespace {

std::vector<float> numbers_of(const ModelTensor& tensor) {
  return {tensor.values.begin(), tensor.values.end()};
}

std::vector<float> transpose(const ModelTensor& matrix) {
  const auto rows = static_cast<std::size_t>(matrix.shape[0]);
  const auto cols = static_cast<std::size_t>(matrix.shape[1]);
  std::vector<float> result(rows * cols);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) result[j * rows + i] = matrix.values[i * cols + j];
  }
  return result;
}

/// Appends the gates' parts of a matrix [K D, n] or vector [K D], in the order `gates`.
void append_gates(const ModelTensor& tensor, const std::vector<dim_t>& gates,
                  std::vector<float>& out) {
  const std::size_t part = tensor.values.size() / gates.size();
  for (const dim_t gate : gates) {
    const auto values = tensor.values.subspan(static_cast<std::size_t>(gate) * part, part);
    out.insert(out.end(), values.begin(), values.end());
  }
}

/// What the average of one channel and dimension keeps of its state at a step (q) and what of it the
/// output sees (k): dsf/layers/ema.h.
struct EmaNumbers {
  std::vector<float> q;  // [N, E]
  std::vector<float> k;  // [N, E]
};

EmaNumbers ema_numbers(const ModelTensor& alpha, const ModelTensor& delta, const ModelTensor& beta,
                       const ModelTensor& eta) {
  const auto sigmoid = [](float x) { return 1.0 / (1.0 + std::exp(-static_cast<double>(x))); };
  const auto channels = static_cast<std::size_t>(alpha.shape[0]);
  const auto dims = static_cast<std::size_t>(alpha.shape[1]);
  EmaNumbers result{std::vector<float>(channels * dims), std::vector<float>(channels * dims)};
  for (std::size_t j = 0; j < channels; ++j) {
    for (std::size_t n = 0; n < dims; ++n) {
      const std::size_t from = j * dims + n;
      const std::size_t to = n * channels + j;
      const double damping = sigmoid(alpha.values[from]);
      const double pattern = n % 2 == 0 ? 1.0 : -1.0;
      result.q[to] = static_cast<float>(1.0 - damping * sigmoid(delta.values[from]));
      result.k[to] = static_cast<float>(damping * (pattern + beta.values[from]) * eta.values[from] /
                                        std::sqrt(static_cast<double>(dims)));
    }
  }
  return result;
}

}  // namespace

Layers::Layers(LanguageModel& model, GraphBuilder& graph) : config_(model.config()), graph_(graph) {
  for (ModelTensor& tensor : model_tensors(model)) {
    std::string name = tensor.name;
    tensors_.emplace(std::move(name), std::move(tensor));
  }
  state_width_ = model.zero_state(1).front().cols();
}

const ModelTensor& Layers::tensor(const std::string& name) const { return tensors_.at(name); }

std::string Layers::parameter(const std::string& name) {
  return graph_.constant(name, tensor(name).shape, numbers_of(tensor(name)));
}

std::string Layers::transposed(const std::string& name) {
  const ModelTensor& matrix = tensor(name);
  return graph_.constant(name + ".transposed", {matrix.shape[1], matrix.shape[0]},
                         transpose(matrix));
}

std::string Layers::embedding(const std::string& prefix, const std::string& tokens) {
  return graph_.node("Gather", {parameter(prefix + "weight"), tokens});
}

std::string Layers::linear(const std::string& prefix, const std::string& x) {
  const std::string product = graph_.node("MatMul", {x, transposed(prefix + "weight")});
  return graph_.node("Add", {product, parameter(prefix + "bias")});
}

std::string Layers::norm(const std::string& prefix, const std::string& x) {
  return graph_.node("LayerNormalization",
                     {x, parameter(prefix + "weight"), parameter(prefix + "bias")},
                     {{"epsilon", kLayerNormEpsilon}});
}

// x sigmoid(2 sqrt(2/pi) x (1 + 0.044715 x^2)), which is the same as the form with tanh
std::string Layers::gelu(const std::string& x) {
  const std::string square = graph_.node("Mul", {x, x});
  const std::string cubic = graph_.node("Mul", {square, graph_.scalar(0.044715F)});
  const std::string inner = graph_.node("Add", {cubic, graph_.scalar(1.0F)});
  const std::string slope = graph_.node("Mul", {x, graph_.scalar(1.5957691216057308F)});
  const std::string gate = graph_.node("Sigmoid", {graph_.node("Mul", {slope, inner})});
  return graph_.node("Mul", {x, gate});
}

std::string Layers::silu(const std::string& x) {
  return graph_.node("Mul", {x, graph_.node("Sigmoid", {x})});
}

Mixed Layers::mixer(const std::string& prefix, const std::string& x, const std::string& state) {
  switch (config_.mixer) {
    case MixerKind::rnn:
      return operator_cell("RNN", {0}, {}, prefix, x, state);
    case MixerKind::gru: {
      // ONNX has the gates in the order z, r, h.
      const std::vector<dim_t> gates = {gru_gate::update, gru_gate::reset, gru_gate::candidate};
      const dim_t after = config_.reset == GruReset::after ? 1 : 0;
      return operator_cell("GRU", gates, {{"linear_before_reset", after}}, prefix, x, state);
    }
    case MixerKind::lstm:
      return lstm(prefix, x, state);
    case MixerKind::ema:
      return ema(prefix, x, state);
    case MixerKind::attention:
      break;
  }
  throw Error("onnx: attention has no state");  // has_state() says so before
}

// W [1, K D, n], R [1, K D, D], B [1, 2 K D]: the first dimension is the direction.
Mixed Layers::operator_cell(const std::string& op, const std::vector<dim_t>& gates,
                            std::vector<Attribute> attributes, const std::string& prefix,
                            const std::string& x, const std::string& state) {
  const auto matrix = [&](const std::string& name) {
    const ModelTensor& from = tensor(prefix + name);
    std::vector<float> numbers;
    append_gates(from, gates, numbers);
    return graph_.constant(prefix + name, {1, from.shape[0], from.shape[1]}, std::move(numbers));
  };
  std::vector<float> biases;
  append_gates(tensor(prefix + "bias_ih"), gates, biases);
  append_gates(tensor(prefix + "bias_hh"), gates, biases);
  const auto bias_count = static_cast<dim_t>(biases.size());
  attributes.push_back({"hidden_size", config_.hidden});
  const std::string no_lengths;
  const std::vector<std::string> out = graph_.nodes(
      op,
      {x, matrix("weight_ih"), matrix("weight_hh"),
       graph_.constant(prefix + "bias", {1, bias_count}, std::move(biases)), no_lengths, state},
      2, std::move(attributes));
  // Y is [time, 1, batch, D].
  return {graph_.node("Squeeze", {out[0], graph_.integers({1})}), out[1]};
}

// ONNX's operator hands out h of every step and c of the last one. The paper's LSTM hands out
// [h, c] of every step, so its step is written out, and Scan repeats it.
Mixed Layers::lstm(const std::string& prefix, const std::string& x, const std::string& state) {
  const ModelTensor& b_ih = tensor(prefix + "bias_ih");
  std::vector<float> bias = numbers_of(tensor(prefix + "bias_hh"));
  std::transform(bias.begin(), bias.end(), b_ih.values.begin(), bias.begin(), std::plus<>());
  const std::string product = graph_.node("MatMul", {x, transposed(prefix + "weight_ih")});
  const std::string w =
      graph_.node("Add", {product, graph_.constant(prefix + "bias", b_ih.shape, std::move(bias))});
  const std::string U = transposed(prefix + "weight_hh");

  const dim_t D = config_.hidden;
  const dim_t gate_count = lstm_gate::count;
  const std::vector<Attribute> columns = {{"axis", dim_t{1}}};
  const std::string inside = prefix + "step.";
  GraphBuilder step(prefix + "step", inside);
  const std::string previous =
      step.input({inside + "previous", Element::f32, {"batch", 2 * D}, ""});
  const std::string w_t = step.input({inside + "w", Element::f32, {"batch", gate_count * D}, ""});
  const std::vector<std::string> hc = step.nodes("Split", {previous}, 2, columns);
  const std::string gates = step.node("Add", {w_t, step.node("MatMul", {hc[0], U})});
  const std::vector<std::string> parts = step.nodes("Split", {gates}, gate_count, columns);
  const std::string i = step.node("Sigmoid", {parts[lstm_gate::input]});
  const std::string f = step.node("Sigmoid", {parts[lstm_gate::forget]});
  const std::string m = step.node("Tanh", {parts[lstm_gate::candidate]});
  const std::string o = step.node("Sigmoid", {parts[lstm_gate::output]});
  const std::string c = step.node("Add", {step.node("Mul", {f, hc[1]}), step.node("Mul", {i, m})});
  const std::string h = step.node("Mul", {o, step.node("Tanh", {c})});
  const std::string both = step.node("Concat", {h, c}, columns);
  step.output(both, {inside + "state", Element::f32, {"batch", 2 * D}, ""});
  step.output(both, {inside + "y", Element::f32, {"batch", 2 * D}, ""});
  return scan(step.take(), w, state);
}

// s_t = v_t + q s_{t-1},  m_t = sum_n k s_t + omega v_t,  y = silu(m) silu(r)
Mixed Layers::ema(const std::string& prefix, const std::string& x, const std::string& state) {
  const ModelTensor& alpha = tensor(prefix + "alpha");
  const dim_t E = alpha.shape[0];
  const dim_t N = alpha.shape[1];
  EmaNumbers numbers =
      ema_numbers(alpha, tensor(prefix + "delta"), tensor(prefix + "beta"), tensor(prefix + "eta"));
  const std::string q = graph_.constant(prefix + "q", {N, E}, std::move(numbers.q));
  const std::string k = graph_.constant(prefix + "k", {N, E}, std::move(numbers.k));
  const std::vector<std::string> vr =
      graph_.nodes("Split", {linear(prefix + "in.", x)}, 2, {{"axis", dim_t{2}}});

  const std::string inside = prefix + "step.";
  GraphBuilder step(prefix + "step", inside);
  const std::string previous =
      step.input({inside + "previous", Element::f32, {"batch", N * E}, ""});
  const std::string v_t = step.input({inside + "v", Element::f32, {"batch", E}, ""});
  const std::string s = step.node("Reshape", {previous, step.integers({-1, N, E})});
  const std::string v = step.node("Unsqueeze", {v_t, step.integers({1})});
  const std::string next = step.node("Add", {v, step.node("Mul", {q, s})});
  const std::string average = step.node(
      "ReduceSum", {step.node("Mul", {k, next}), step.integers({1})}, {{"keepdims", dim_t{0}}});
  step.output(step.node("Reshape", {next, step.integers({-1, N * E})}),
              {inside + "state", Element::f32, {"batch", N * E}, ""});
  step.output(average, {inside + "y", Element::f32, {"batch", E}, ""});
  const Mixed averages = scan(step.take(), vr[0], state);

  const std::string direct = graph_.node("Mul", {parameter(prefix + "omega"), vr[0]});
  const std::string m = graph_.node("Add", {averages.y, direct});
  return {graph_.node("Mul", {silu(m), silu(vr[1])}), averages.state};
}

Mixed Layers::scan(Graph body, const std::string& x, const std::string& state) {
  const std::string layer_axis = graph_.integers({0});
  const std::vector<std::string> out = graph_.nodes(
      "Scan", {graph_.node("Squeeze", {state, layer_axis}), x}, 2,
      {{"body", std::make_shared<const Graph>(std::move(body))}, {"num_scan_inputs", dim_t{1}}});
  return {out[1], graph_.node("Unsqueeze", {out[0], layer_axis})};
}

}  // namespace dsf::onnx
