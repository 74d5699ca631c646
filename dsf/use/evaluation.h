#pragma once

#include <functional>

#include "dsf/data/batcher.h"
#include "dsf/data/dataset.h"
#include "dsf/model/language_model.h"
#include "dsf/run/run_config.h"

namespace dsf {

/// The loss over a whole split, cut into batches as in training but in the text's order. The model
/// must be prepared. States of its own are used: a carried training state is not disturbed. Where
/// several ranks share the work, the sum is over the rank's share of each batch.
LossSum evaluate_split(const Split& split, const RunConfig& config, token_t bos,
                       LanguageModel& model, BatchShare share = {});

/// A target and -log of the probability the model gave it, in nats.
using TokenObserver = std::function<void(token_t target, double loss)>;

/// evaluate_split one sequence at a time, telling of every target in the text's order. Where the
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
};

/// Where the batching leaves tokens out (long lines are cut), the split's characters and bytes are
/// taken in proportion to the tokens that were counted.
EvaluationReport report_of(const LossSum& sum, const Split& split);

}  // namespace dsf
