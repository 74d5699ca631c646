#include "dsf/use/onnx_export.h"

#include <fmt/format.h>

#include "dsf/base/error.h"
#include "dsf/use/onnx_file.h"
#include "dsf/use/onnx_layers.h"

namespace dsf {
namespace {

using onnx::Element;

/// Embedding -> blocks -> head, as LanguageModel computes them.
class Translation {
 public:
  explicit Translation(LanguageModel& model)
      : config_(model.config()), vocab_(model.vocab()), graph_("dsf"), layers_(model, graph_) {}

  onnx::Graph run() {
    const dim_t width = layers_.state_width();
    const std::string tokens =
        graph_.input({"tokens", Element::i64, {"time", "batch"}, "ids of the tokenizer"});
    const std::string state = graph_.input({"state",
                                            Element::f32,
                                            {config_.layers, "batch", width},
                                            "zeros at the beginning of a text"});
    const std::vector<std::string> states = split_layers(state);
    std::vector<std::string> next;
    std::string x = layers_.embedding("embedding.", tokens);
    for (dim_t i = 0; i < config_.layers; ++i) {
      const onnx::Mixed block =
          this->block(fmt::format("blocks.{}.", i), x, states[static_cast<std::size_t>(i)]);
      x = block.y;
      next.push_back(block.state);
    }
    if (config_.block == BlockKind::transformer) x = layers_.norm("final_norm.", x);
    graph_.output(layers_.linear("head.", x),
                  {"logits", Element::f32, {"time", "batch", vocab_}, ""});
    graph_.output(graph_.node("Concat", next, {{"axis", dim_t{0}}}),
                  {"next_state",
                   Element::f32,
                   {config_.layers, "batch", width},
                   "the state that the next call begins with"});
    return graph_.take();
  }

 private:
  /// [1, batch, S] for each layer.
  std::vector<std::string> split_layers(const std::string& state) {
    if (config_.layers == 1) return {state};
    return graph_.nodes("Split", {state}, config_.layers, {{"axis", dim_t{0}}});
  }

  onnx::Mixed block(const std::string& prefix, const std::string& x, const std::string& state) {
    const bool transformer = config_.block == BlockKind::transformer;
    const std::string in = transformer ? layers_.norm(prefix + "norm1.", x) : x;
    const onnx::Mixed mixed = layers_.mixer(prefix + "mixer.", in, state);
    std::string u = mixed.y;
    if (layers_.has(prefix + "proj.weight")) u = layers_.linear(prefix + "proj.", u);
    u = skip(x, u);
    if (!transformer) return {u, mixed.state};
    const std::string p = layers_.linear(prefix + "mlp.in.", layers_.norm(prefix + "norm2.", u));
    return {skip(u, layers_.linear(prefix + "mlp.out.", layers_.gelu(p))), mixed.state};
  }

  std::string skip(const std::string& x, const std::string& y) {
    return config_.skip ? graph_.node("Add", {x, y}) : y;
  }

  const ModelConfig& config_;
  dim_t vocab_;
  onnx::GraphBuilder graph_;
  onnx::Layers layers_;
};

}  // namespace

void check_onnx_export(const ModelConfig& config) {
  onnx::require_onnx();
  if (onnx::has_state(config.mixer)) return;
  throw UsageError(fmt::format(
      "a model with model.mixer = \"{}\" cannot be exported as ONNX: it has no state that a call "
      "could hand to the next one; every other mixer has, and safetensors takes all",
      name_of(config.mixer)));
}

void export_onnx(const StoredModel& stored, const std::filesystem::path& file) {
  const ModelConfig& config = stored.model->config();
  check_onnx_export(config);
  onnx::Model model;
  model.graph = Translation(*stored.model).run();
  model.description = fmt::format(
      "A language model: {} layers of {} {} units, vocabulary {}. Its tokenizer is in the "
      "config.json beside it.",
      config.layers, config.hidden, name_of(config.mixer), stored.model->vocab());
  model.properties = {{"dsf.mixer", std::string(name_of(config.mixer))},
                      {"dsf.block", std::string(name_of(config.block))},
                      {"dsf.step", fmt::to_string(stored.step)},
                      {"dsf.tokenizer", std::string(name_of(stored.tokenizer->kind()))}};
  onnx::write_onnx(model, file);
}

}  // namespace dsf
