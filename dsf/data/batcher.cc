#include "dsf/data/batcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/rng.h"

namespace dsf {
namespace {

dim_t size_of(const Split& split) { return static_cast<dim_t>(split.tokens.size()); }

}  // namespace

dim_t tokens_cut_off(const Split& split, Batching batching, dim_t context) {
  if (batching != Batching::sentences) return 0;
  dim_t cut = 0;
  for (dim_t line = 0; line < split.lines(); ++line) {
    cut += std::max<dim_t>(split.line_length(line) - context, 0);
  }
  return cut;
}

Batcher::Batcher(const Split& split, Batching batching, dim_t context, dim_t batch, token_t bos,
                 std::uint64_t seed, bool shuffled)
    : split_(&split),
      batching_(batching),
      context_(context),
      batch_(batch),
      bos_(bos),
      seed_(seed),
      shuffled_(shuffled) {
  if (context < 1) throw ConfigError(fmt::format("context = {}, but it must be positive", context));
  if (batch < 1) throw ConfigError(fmt::format("batch = {}, but it must be positive", batch));
  switch (batching) {
    case Batching::sentences:
      plan_sentences();
      break;
    case Batching::blocks:
      plan_blocks();
      break;
    case Batching::stream:
      plan_stream();
      break;
  }
}

void Batcher::plan_sentences() {
  for (dim_t line = 0; line < split_->lines(); ++line) {
    const dim_t length = split_->line_length(line);
    if (length > 1) {
      sequences_.push_back({split_->line_start(line), std::min(length, context_)});
    }
  }
  if (sequences_.empty()) throw DataError("the text has no line with words to make a sentence of");
  group_sequences();
}

void Batcher::plan_blocks() {
  const dim_t end = size_of(*split_);
  for (dim_t first = 1; first < end; first += context_) {
    sequences_.push_back({first, std::min(context_, end - first)});
  }
  if (sequences_.empty()) {
    throw DataError(fmt::format("the text has {} tokens; blocks need at least 2", end));
  }
  group_sequences();
}

void Batcher::plan_stream() {
  const dim_t targets = size_of(*split_) - 1;
  stream_length_ = targets / batch_;
  if (stream_length_ < 1) {
    throw DataError(fmt::format(
        "the text has {} tokens, too few for {} parallel streams; at most {} are possible",
        size_of(*split_), batch_, std::max<dim_t>(targets, 0)));
  }
  batches_per_epoch_ = ceil_div(stream_length_, context_);
}

void Batcher::group_sequences() {
  batches_per_epoch_ = ceil_div(static_cast<dim_t>(sequences_.size()), batch_);
}

void Batcher::seek(BatchPosition position) {
  if (position.epoch < 0 || position.batch < 0 || position.batch >= batches_per_epoch_) {
    throw DataError(
        fmt::format("no batch {} in epoch {}: this text makes {} batches an epoch, counted from 0",
                    position.batch, position.epoch, batches_per_epoch_));
  }
  position_ = position;
}

void Batcher::next(TokenBatch& out, BatchShare share) {
  gather(position_.batch);
  keep(share);
  fill(out);
  if (++position_.batch == batches_per_epoch_) position_ = {position_.epoch + 1, 0};
}

void Batcher::order_epoch(dim_t epoch) {
  if (ordered_epoch_ == epoch || (ordered_epoch_ >= 0 && !shuffled_)) return;
  order_.resize(sequences_.size());
  std::iota(order_.begin(), order_.end(), dim_t{0});
  if (shuffled_) {
    Rng rng(seed_, fmt::format("shuffle/{}", epoch));
    shuffle(order_, rng);
  }
  ordered_epoch_ = epoch;
}

// The sequences of a batch, longest first as the packed layout wants them.
void Batcher::gather(dim_t batch) {
  chosen_.clear();
  if (batching_ == Batching::stream) {
    const dim_t done = batch * context_;
    const dim_t steps = std::min(context_, stream_length_ - done);
    for (dim_t b = 0; b < batch_; ++b) chosen_.push_back({1 + b * stream_length_ + done, steps});
    return;
  }
  order_epoch(position_.epoch);
  const dim_t begin = batch * batch_;
  const dim_t end = std::min(begin + batch_, static_cast<dim_t>(order_.size()));
  for (dim_t i = begin; i < end; ++i) {
    const dim_t chosen = order_[static_cast<std::size_t>(i)];
    chosen_.push_back(sequences_[static_cast<std::size_t>(chosen)]);
  }
  std::stable_sort(chosen_.begin(), chosen_.end(),
                   [](const Sequence& a, const Sequence& b) { return a.length > b.length; });
}

void Batcher::keep(BatchShare share) {
  last_batch_tokens_ = 0;
  for (const Sequence& sequence : chosen_) last_batch_tokens_ += sequence.length;
  const dim_t kept = share.rows_of(static_cast<dim_t>(chosen_.size()));
  for (dim_t i = 0; i < kept; ++i) {
    chosen_[static_cast<std::size_t>(i)] =
        chosen_[static_cast<std::size_t>(share.index + i * share.count)];
  }
  chosen_.resize(static_cast<std::size_t>(kept));
}

void Batcher::fill(TokenBatch& out) const {
  const dim_t steps = chosen_.empty() ? 0 : chosen_.front().length;
  std::vector<dim_t> rows(static_cast<std::size_t>(steps), 0);
  auto alive = static_cast<dim_t>(chosen_.size());
  for (dim_t t = 0; t < steps; ++t) {
    while (chosen_[static_cast<std::size_t>(alive - 1)].length <= t) --alive;
    rows[static_cast<std::size_t>(t)] = alive;
  }
  out.layout = PackedLayout(std::move(rows));
  out.inputs.resize(static_cast<std::size_t>(out.tokens()));
  out.targets.resize(static_cast<std::size_t>(out.tokens()));

  const token_t* tokens = split_->tokens.data();
  std::size_t row = 0;
  for (dim_t t = 0; t < out.layout.steps(); ++t) {
    const bool sentence_head = t == 0 && batching_ == Batching::sentences;
    for (dim_t b = 0; b < out.layout.rows_at(t); ++b, ++row) {
      const dim_t target = chosen_[static_cast<std::size_t>(b)].first + t;
      out.inputs[row] = sentence_head ? bos_ : tokens[target - 1];
      out.targets[row] = tokens[target];
    }
  }
}

}  // namespace dsf
