#pragma once

// Embedding -> blocks -> head, with its parameters in one flat buffer.
//
//   T steps, B sequences, D hidden units, V vocabulary, N rows = tokens of a batch

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dsf/base/buffer.h"
#include "dsf/base/token_batch.h"
#include "dsf/feedback/feedback_config.h"
#include "dsf/kernels/gemm.h"
#include "dsf/layers/mixer.h"
#include "dsf/layers/parameter.h"
#include "dsf/model/model_config.h"

namespace dsf {

/// Sums over the tokens of a batch, so that batches add up.
struct LossSum {
  double loss = 0.0;  ///< sum of -log p(target), natural logarithm
  dim_t tokens = 0;
  dim_t correct = 0;  ///< targets that were the most probable token

  double mean() const { return tokens == 0 ? 0.0 : loss / static_cast<double>(tokens); }
  LossSum& operator+=(const LossSum& other);
};

/// Seconds of the last step, by phase.
struct PhaseTimes {
  double forward = 0.0;
  double head = 0.0;  ///< forward and backward of the head, which are one pass
  double backward = 0.0;
};

/// Told during the backward pass that all gradients from flat index `first` on are final. The
/// parameters lie in the order of the forward pass, so `first` falls, from the head's to 0.
using GradientsReady = std::function<void(dim_t first)>;

/// The recurrent states between two batches of a stream: one [B, state_width] matrix a block.
using ModelState = std::vector<Matrix>;

/// A language model and the memory of its steps. A training step is forward_backward and an update of
/// mutable_weights() by gradients(). For one caller at a time: the threads are inside.
/// examples/language_model.cc is a whole training loop.
class LanguageModel {
 public:
  /// Builds the model and draws its initial weights from `seed`. Throws ConfigError.
  LanguageModel(const ModelConfig& config, const FeedbackConfig& feedback, dim_t vocab,
                std::uint64_t seed);
  ~LanguageModel();

  const ModelConfig& config() const;
  dim_t vocab() const;
  const ParameterTable& table() const;
  /// Flat, table().flat_size() long.
  std::span<const float> weights() const;
  /// The same, to be changed. Take it anew for each change: the next pass converts and packs the
  /// weights for its GEMMs because it was taken.
  std::span<float> mutable_weights();
  /// Allocated by the first forward_backward; same layout as the weights.
  std::span<float> gradients();
  /// What is not trained but belongs to the model (feedback diagonals).
  std::vector<NamedBuffer> buffers();

  /// Of the GEMMs; f32 at first.
  void set_precision(Precision precision);

  /// Zero states for `batch` sequences.
  ModelState zero_state(dim_t batch) const;

  /// Overwrites the gradients with those of  loss_sum * loss_scale  and returns the sums.
  /// loss_scale = 1 / tokens gives the mean over real tokens. `state`: carried from batch to batch
  /// and updated; null starts each sequence at zero. A batch without sequences has zero gradients.
  LossSum forward_backward(
      const TokenBatch& batch, double loss_scale, ModelState* state = nullptr,
      const GradientsReady& ready = [](dim_t) {});

  /// Loss only.
  LossSum evaluate(const TokenBatch& batch, ModelState* state = nullptr);

  /// Logits [N, V] of every row: for small batches only (generation, tests).
  void logits(const TokenBatch& batch, ModelState* state, MatrixF out);

  const PhaseTimes& phase_times() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The number of parameters of a configuration, without allocating the model.
dim_t count_parameters(const ModelConfig& config, const FeedbackConfig& feedback, dim_t vocab);

}  // namespace dsf
