#pragma once

// The weights of a PyTorch language model without a config.json: an embedding, one
// torch.nn.{RNN,GRU,LSTM} of any number of layers, a linear head.

#include "dsf/model/language_model.h"
#include "dsf/model/safetensors.h"

namespace dsf {

struct TorchModel {
  ModelConfig config;  ///< plain blocks without skip connections: what torch.nn stacks
  dim_t vocab = 0;
  std::string recurrent;  ///< what stands before "weight_ih_l0"
  std::string embedding;  ///< name of the tensor [V, D]
  std::string head;       ///< likewise; the embedding's where the two are tied
  std::string head_bias;  ///< empty: none
};

/// What the file holds, by names and shapes. Throws CheckpointError if it is not such a model:
/// bidirectional, projected, of unequal widths, or with tensors nobody knows.
TorchModel recognise_torch_model(const SafetensorsFile& file, const std::string& origin);

/// Fills a model made from torch.config and torch.vocab. Biases that are not there are zero; the
/// LSTM's map from [h, c] to D passes h.
void fill_from_torch(const SafetensorsFile& file, const TorchModel& torch, LanguageModel& model);

}  // namespace dsf
