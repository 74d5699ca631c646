#include "python/native/layer_memory.h"

#include <algorithm>

#include "dsf/base/error.h"
#include "dsf/cells/gru.h"
#include "dsf/cells/lstm.h"
#include "dsf/cells/rnn.h"

namespace dsf::native {
namespace {

constexpr std::size_t kMostKinds = 16;

}  // namespace

std::unique_ptr<Cell> make_named_cell(const std::string& name, dim_t input, dim_t hidden) {
  if (name == "rnn_tanh") return std::make_unique<RnnCell>(input, hidden, Nonlinearity::tanh);
  if (name == "rnn_relu") return std::make_unique<RnnCell>(input, hidden, Nonlinearity::relu);
  if (name == "gru") return std::make_unique<GruResetAfterCell>(input, hidden);
  if (name == "lstm") return std::make_unique<LstmCell>(input, hidden);
  throw ConfigError("cell = \"" + name + "\" is unknown; known: rnn_tanh, rnn_relu, gru, lstm");
}

LayerMemory& LayerMemory::of_this_thread() {
  thread_local LayerMemory memory;
  return memory;
}

CellAndFeedback& LayerMemory::find(const dsf_layer& layer) {
  const auto found = std::find_if(kinds_.begin(), kinds_.end(), [&](const CellAndFeedback& kind) {
    const CellShape& shape = kind.cell->shape();
    return shape.input == layer.input && shape.hidden == layer.hidden &&
           kind.cell_name == layer.cell && kind.feedback_name == layer.feedback;
  });
  if (found != kinds_.end()) {
    kinds_.splice(kinds_.begin(), kinds_, found);
    return kinds_.front();
  }
  CellAndFeedback kind{layer.cell, layer.feedback,
                       make_named_cell(layer.cell, layer.input, layer.hidden), nullptr};
  FeedbackConfig config;
  config.method = layer.feedback;
  kind.feedback = make_feedback(config, kind.cell->shape().state, 0, "");
  kinds_.push_front(std::move(kind));
  if (kinds_.size() > kMostKinds) kinds_.pop_back();
  return kinds_.front();
}

}  // namespace dsf::native
