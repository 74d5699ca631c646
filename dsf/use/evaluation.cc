#include "dsf/use/evaluation.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "dsf/base/loss_units.h"
#include "dsf/kernels/softmax.h"

namespace dsf {
namespace {

// As many parallel streams as in training, or fewer if the split is too short for that: each
// stream should be one context long.
dim_t evaluation_batch(const Split& split, const RunConfig& config) {
  if (config.data.batching != Batching::stream) return config.train.batch;
  const auto tokens = static_cast<dim_t>(split.tokens.size());
  return std::clamp<dim_t>(tokens / (config.data.context + 1), 1, config.train.batch);
}

}  // namespace

LossSum evaluate_split(const Split& split, const RunConfig& config, token_t bos,
                       LanguageModel& model, BatchShare share,
                       const std::function<void(double)>& progress) {
  Batcher batcher(split, config.data.batching, config.data.context, evaluation_batch(split, config),
                  bos, 0, false);
  ModelState state;
  if (batcher.carries_state()) state = model.zero_state(share.rows_of(batcher.batch_size()));
  LossSum sum;
  TokenBatch batch;
  for (dim_t i = 0; i < batcher.batches_per_epoch(); ++i) {
    batcher.next(batch, share);
    progress(static_cast<double>(i) / static_cast<double>(batcher.batches_per_epoch()));
    if (batch.tokens() == 0) continue;
    sum += model.evaluate(batch, batcher.carries_state() ? &state : nullptr);
  }
  return sum;
}

LossSum evaluate_tokens(const Split& split, const RunConfig& config, token_t bos,
                        LanguageModel& model, const TokenObserver& observer) {
  Batcher batcher(split, config.data.batching, config.data.context, 1, bos, 0, false);
  ModelState state = model.zero_state(1);
  LossSum sum;
  TokenBatch batch;
  Matrix logits;
  std::vector<float> losses;
  std::vector<std::uint8_t> correct;
  for (dim_t i = 0; i < batcher.batches_per_epoch(); ++i) {
    batcher.next(batch);
    const MatrixF rows = logits.reshape(batch.tokens(), model.vocab());
    model.logits(batch, batcher.carries_state() ? &state : nullptr, rows);
    losses.resize(batch.targets.size());
    correct.resize(batch.targets.size());
    cross_entropy(rows, batch.targets, losses, correct);
    for (std::size_t t = 0; t < losses.size(); ++t) {
      const auto loss = static_cast<double>(losses[t]);
      observer(batch.targets[t], loss);
      sum += {loss, 1, correct[t]};
    }
  }
  return sum;
}

EvaluationReport report_of(const LossSum& sum, const Split& split) {
  EvaluationReport report;
  report.sum = sum;
  report.loss = sum.mean();
  report.perplexity = perplexity_of(report.loss);
  report.bits_per_token = bits_of(report.loss);
  if (sum.tokens == 0) return report;
  report.accuracy = static_cast<double>(sum.correct) / static_cast<double>(sum.tokens);
  const auto tokens = static_cast<double>(split.tokens.size());
  report.unknown_rate = tokens == 0.0 ? 0.0 : static_cast<double>(split.unknown) / tokens;
  constexpr double kBitsOfAByte = 8.0;
  const double bits =
      report.bits_per_token * tokens + kBitsOfAByte * static_cast<double>(split.unknown_bytes);
  const auto bits_per = [&](dim_t units) {
    return units == 0 ? 0.0 : bits / static_cast<double>(units);
  };
  report.bits_per_character = bits_per(split.characters);
  report.bits_per_byte = bits_per(split.bytes);
  return report;
}

}  // namespace dsf
