#include "dsf/train/training_memory.h"

#include <algorithm>

#include "dsf/base/process_memory.h"
#include "dsf/kernels/xsmm_kernels.h"
#include "dsf/model/language_model.h"
#include "dsf/model/step_memory.h"
#include "dsf/train/training_batches.h"

namespace dsf {
namespace {

// How much of the libraries' code a training step touches differs between their versions, so one
// step of a tiny model is done for it.
void touch_code_of_a_step() {
  ModelConfig tiny;
  tiny.hidden = 16;
  LanguageModel model(tiny, FeedbackConfig{}, 4, 0);
  const TokenBatch batch{PackedLayout::uniform(2, 2), {0, 1, 2, 3}, {1, 2, 3, 0}};
  model.forward_backward(batch, 1.0);
}

// The program and its libraries, and what training adds to them: the stacks of its threads and the
// kernels and the table of libxsmm.
double program_bytes() {
  constexpr double kByTraining = 7e6;
  touch_code_of_a_step();
  return resident_code_bytes() + kByTraining + static_cast<double>(xsmm::library_bytes());
}

double step_bytes(const RunConfig& config, dim_t vocab, const BatchShape& shape) {
  return program_bytes() +
         step_memory(config.model, config.feedback, vocab, shape, precision_of(config.train));
}

BatchShape largest_batch(const RunConfig& config, const Dataset& data) {
  Batcher batcher = training_batches(config, data.train, data.tokenizer->bos());
  BatchShape shape{0, 0, 0, true};
  TokenBatch batch;
  for (dim_t i = 0; i < batcher.batches_per_epoch(); ++i) {
    batcher.next(batch);
    shape.rows = std::max(shape.rows, batch.tokens());
    shape.batch = std::max(shape.batch, batch.layout.batch());
    shape.steps = std::max(shape.steps, batch.layout.steps());
    shape.uniform = shape.uniform && batch.layout.is_uniform();
  }
  return shape;
}

double split_bytes(const Split& split) {
  return static_cast<double>(split.tokens.size() * sizeof(token_t) +
                             split.line_starts.size() * sizeof(dim_t));
}

}  // namespace

MemoryEstimate estimate_training_memory(const RunConfig& config, const Dataset& data) {
  const double text = split_bytes(data.train) + split_bytes(data.valid) + split_bytes(data.test);
  return {text + step_bytes(config, data.tokenizer->vocab_size(), largest_batch(config, data)),
          false};
}

MemoryEstimate estimate_training_memory(const RunConfig& config, dim_t vocab) {
  const dim_t rows = config.train.batch * config.data.context;
  const bool uniform = config.data.batching != Batching::sentences;
  return {step_bytes(config, vocab, {rows, config.train.batch, config.data.context, uniform}),
          true};
}

}  // namespace dsf
