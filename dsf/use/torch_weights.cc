#include "dsf/use/torch_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "dsf/base/error.h"
#include "dsf/model/model_tensors.h"

namespace dsf {
namespace {

constexpr std::string_view kFirst = "weight_ih_l0";
constexpr std::array<const char*, 4> kParts = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
constexpr std::array<std::string_view, 5> kEmbeddings = {
    "embedding.weight", "encoder.weight", "embed.weight", "emb.weight", "wte.weight"};
constexpr std::array<std::string_view, 7> kHeads = {
    "head.weight", "decoder.weight", "lm_head.weight", "fc.weight",
    "out.weight",  "output.weight",  "linear.weight"};

class Recogniser {
 public:
  Recogniser(const SafetensorsFile& file, const std::string& origin)
      : file_(file), origin_(origin) {}

  TorchModel run() {
    find_recurrent();
    find_layers();
    find_maps();
    for (const auto& [name, tensor] : file_.tensors()) {
      if (!known_.contains(name)) refuse(fmt::format("tensor \"{}\" has no place", name));
    }
    return model_;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw CheckpointError(
        fmt::format("{}: {}; an embedding, one torch.nn.RNN, GRU or LSTM as wide as the embedding, "
                    "in one direction, and a linear head can be imported",
                    origin_, why));
  }

  const std::vector<dim_t>& shape(const std::string& name) const {
    return file_.tensors().at(name).shape;
  }

  void find_recurrent() {
    int found = 0;
    for (const auto& [name, tensor] : file_.tensors()) {
      if (!name.ends_with(kFirst)) continue;
      model_.recurrent = name.substr(0, name.size() - kFirst.size());
      ++found;
    }
    if (found != 1) refuse(fmt::format("{} tensors end in {}", found, kFirst));
    const std::string U = model_.recurrent + "weight_hh_l0";
    if (!file_.has(U) || shape(U).size() != 2 || shape(U)[1] < 1) {
      refuse(fmt::format("there is no matrix \"{}\"", U));
    }
    const dim_t hidden = shape(U)[1];
    const dim_t gates = shape(U)[0] / hidden;
    if (shape(U)[0] % hidden != 0 || (gates != 1 && gates != 3 && gates != 4)) {
      refuse(fmt::format("\"{}\" has {} rows of {}", U, shape(U)[0], hidden));
    }
    model_.config.mixer = gates == 1   ? MixerKind::rnn
                          : gates == 3 ? MixerKind::gru
                                       : MixerKind::lstm;
    model_.config.hidden = hidden;
    model_.config.skip = false;
  }

  // The shapes themselves are checked against the model, once there is one.
  void find_layers() {
    dim_t layer = 0;
    while (file_.has(fmt::format("{}weight_ih_l{}", model_.recurrent, layer))) {
      for (const char* part : kParts) {
        known_.insert(fmt::format("{}{}_l{}", model_.recurrent, part, layer));
      }
      ++layer;
    }
    model_.config.layers = layer;
  }

  template <std::size_t N>
  std::string find_map(const std::array<std::string_view, N>& names) {
    for (const auto& [name, tensor] : file_.tensors()) {
      const bool fits =
          std::any_of(names.begin(), names.end(), [&name = name](std::string_view known) {
            return name == known || name.ends_with("." + std::string(known));
          });
      if (!fits || tensor.shape.size() != 2 || tensor.shape[1] != model_.config.hidden) continue;
      known_.insert(name);
      return name;
    }
    return "";
  }

  void find_maps() {
    model_.embedding = find_map(kEmbeddings);
    if (model_.embedding.empty()) refuse("there is no embedding of the hidden units' width");
    model_.vocab = shape(model_.embedding)[0];
    model_.head = find_map(kHeads);
    if (model_.head.empty()) {
      model_.head = model_.embedding;  // tied weights are in the file once
      return;
    }
    std::string bias = model_.head;
    bias.replace(bias.size() - std::string_view("weight").size(), std::string::npos, "bias");
    if (!file_.has(bias)) return;
    model_.head_bias = bias;
    known_.insert(bias);
  }

  const SafetensorsFile& file_;
  const std::string& origin_;
  TorchModel model_;
  std::set<std::string> known_;
};

/// The name in the file of our parameter `name`; empty: none.
std::string source_of(const std::string& name, const TorchModel& torch) {
  if (name == "embedding.weight") return torch.embedding;
  if (name == "head.weight") return torch.head;
  if (name == "head.bias") return torch.head_bias;
  for (const char* part : kParts) {
    if (!name.ends_with(std::string(".mixer.") + part)) continue;
    const std::string_view from_layer = std::string_view(name).substr(sizeof("blocks.") - 1);
    return fmt::format("{}{}_l{}", torch.recurrent, part,
                       from_layer.substr(0, from_layer.find('.')));
  }
  return "";
}

}  // namespace

TorchModel recognise_torch_model(const SafetensorsFile& file, const std::string& origin) {
  return Recogniser(file, origin).run();
}

void fill_from_torch(const SafetensorsFile& file, const TorchModel& torch, LanguageModel& model) {
  for (const ModelTensor& tensor : model_tensors(model)) {
    if (!tensor.trained) continue;
    const std::string source = source_of(tensor.name, torch);
    const bool bias = tensor.shape.size() == 1;
    if (!source.empty() && (!bias || file.has(source))) {
      file.require(source, tensor.shape);
      file.copy_to(source, tensor.values);
      continue;
    }
    std::ranges::fill(tensor.values, 0.0F);
    if (bias) continue;
    // The LSTM's proj [D, 2D]: h passes, c does not.
    for (dim_t i = 0; i < tensor.shape[0]; ++i) {
      tensor.values[static_cast<std::size_t>(i * tensor.shape[1] + i)] = 1.0F;
    }
  }
}

}  // namespace dsf
