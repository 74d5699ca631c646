#include "dsf/train/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

namespace dsf {
namespace {

// As many parallel streams as in training, or fewer where the split is too short for that: each
// stream should be one context long.
dim_t evaluation_batch(const Split& split, const RunConfig& config) {
  if (parse_batching(config.data.batching) != Batching::stream) return config.train.batch;
  const auto tokens = static_cast<dim_t>(split.tokens.size());
  return std::clamp<dim_t>(tokens / (config.data.context + 1), 1, config.train.batch);
}

// -log softmax(logits)[target], and whether no token is more probable.
LossSum loss_of(std::span<const float> logits, token_t target) {
  const auto largest = std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - *largest));
  const float own = logits[static_cast<std::size_t>(target)];
  return {std::log(sum) - static_cast<double>(own - *largest), 1,
          largest - logits.begin() == target ? 1 : 0};
}

}  // namespace

double perplexity_of(double loss) { return std::exp(loss); }
double bits_of(double loss) { return loss / std::numbers::ln2; }

LossSum evaluate_split(const Split& split, const RunConfig& config, token_t bos,
                       LanguageModel& model, BatchShare share) {
  Batcher batcher(split, parse_batching(config.data.batching), config.data.context,
                  evaluation_batch(split, config), bos, 0, false);
  ModelState state;
  if (batcher.carries_state()) state = model.zero_state(share.rows_of(batcher.batch_size()));
  LossSum sum;
  TokenBatch batch;
  for (dim_t i = 0; i < batcher.batches_per_epoch(); ++i) {
    batcher.next(batch, share);
    if (batch.tokens() == 0) continue;
    sum += model.evaluate(batch, batcher.carries_state() ? &state : nullptr);
  }
  return sum;
}

LossSum evaluate_tokens(const Split& split, const RunConfig& config, token_t bos,
                        LanguageModel& model, const TokenObserver& observer) {
  Batcher batcher(split, parse_batching(config.data.batching), config.data.context, 1, bos, 0,
                  false);
  ModelState state = model.zero_state(1);
  LossSum sum;
  TokenBatch batch;
  Matrix logits;
  for (dim_t i = 0; i < batcher.batches_per_epoch(); ++i) {
    batcher.next(batch);
    const MatrixF rows = logits.reshape(batch.tokens(), model.vocab());
    model.logits(batch, batcher.carries_state() ? &state : nullptr, rows);
    for (dim_t t = 0; t < rows.rows; ++t) {
      const token_t target = batch.targets[static_cast<std::size_t>(t)];
      const LossSum one = loss_of({rows.row(t), static_cast<std::size_t>(rows.cols)}, target);
      observer(target, one.loss);
      sum += one;
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
  const auto bits_per = [&](dim_t units) {
    return units == 0 ? 0.0 : report.bits_per_token * tokens / static_cast<double>(units);
  };
  report.bits_per_character = bits_per(split.characters);
  report.bits_per_byte = bits_per(split.bytes);
  return report;
}

}  // namespace dsf
