#pragma once

#include <functional>

#include "dsf/data/batcher.h"
#include "dsf/data/dataset.h"
#include "dsf/model/language_model.h"
#include "dsf/run/run_config.h"

namespace dsf {

/// The loss over a whole split, cut into batches as in training but in the text's order. States of
/// its own are used: a carried training state is not disturbed. If several ranks share the work, the
/// sum is over the rank's share of each batch. `progress` is told before each batch which part of
/// them is done.
LossSum evaluate_split(
    const Split& split, const RunConfig& config, token_t bos, LanguageModel& model,
    BatchShare share = {}, const std::function<void(double)>& progress = [](double) {});

/// A target and -log of the probability the model gave it, in nats.
using TokenObserver = std::function<void(token_t target, double loss)>;

/// evaluate_split one sequence at a time, telling of every target in the text's order. If the
/// text is a stream, it is one stream, with one state carried through all of it.
LossSum evaluate_tokens(const Split& split, const RunConfig& config, token_t bos,
                        LanguageModel& model, const TokenObserver& observer);

/// What `dsf eval` reports.
struct EvaluationReport {
  LossSum sum;
  double loss = 0.0;
  double perplexity = 0.0;
  double accuracy = 0.0;
  double bits_per_token = 0.0;
  double bits_per_character = 0.0;
  double bits_per_byte = 0.0;
  double unknown_rate = 0.0;  ///< part of the split's tokens that are <unk> for something else
};

/// If the batching leaves tokens out (long lines are cut), the split's characters and bytes are
/// taken in proportion to the tokens that were counted. Bits per character and per byte are those of
/// the text itself: what <unk> hides has to be said too, and counts 8 bits a byte. Otherwise a
/// smaller vocabulary would always be the better one.
EvaluationReport report_of(const LossSum& sum, const Split& split);

}  // namespace dsf
