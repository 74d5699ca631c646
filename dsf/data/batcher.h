#pragma once

// Cuts a split into packed batches. The order of an epoch is a pure function of (seed, epoch), so a
// position is two numbers, and resuming is seeking.
//
//   sentences   each line is <bos> w ... <eos>, cut at context + 1 tokens; what is behind is
//               dropped, and so are blank lines; shuffled; `batch` lines a batch, sorted by length
//               inside the batch; the last batch of an epoch may be smaller
//   blocks      the running text, lines and all, cut into blocks of `context` inputs, each token
//               predicting its successor, the last block being shorter; shuffled. Every token but
//               the very first is a target once
//   stream      the running text cut into `batch` equal streams side by side, `context` steps a
//               batch, in order: the state is carried from batch to batch and starts at zero with
//               each epoch. The last batch has fewer steps; up to batch - 1 tokens at the end of
//               the text are left out
//
// All three are the same thing to the code that fills a batch: a sequence is a run of targets in
// Split::tokens, and the input of a target is the token before it, or <bos> at the head of a
// sentence.

#include <cstdint>
#include <string>
#include <vector>

#include "dsf/base/token_batch.h"
#include "dsf/data/data_config.h"
#include "dsf/data/dataset.h"

namespace dsf {

/// Tokens of a split that no batch has as a target because their line goes on behind `context` of
/// them: `sentences` cuts lines, the others do not.
dim_t tokens_cut_off(const Split& split, Batching batching, dim_t context);

/// All that a batcher has to remember: seek() to a stored one goes on with the very batch.
struct BatchPosition {
  dim_t epoch = 0;
  dim_t batch = 0;  ///< next batch of the epoch to hand out

  bool operator==(const BatchPosition&) const = default;
};

/// Which sequences of a batch to take: of its rows, longest first, row `index`, `index` + `count`,
/// and so on. Shares of one batch are about equally long and together they are the batch.
struct BatchShare {
  dim_t index = 0;
  dim_t count = 1;

  /// How many of `rows` rows.
  dim_t rows_of(dim_t rows) const { return ceil_div(rows - index, count); }
};

/// Hands out the batches of a split, epoch after epoch, without end.
class Batcher {
 public:
  /// `split` must outlive the batcher. `shuffled` false keeps the text's order (evaluation); a
  /// stream is never shuffled. Throws ConfigError if context or batch is not positive, DataError
  /// if the split is too short for a single batch.
  Batcher(const Split& split, Batching batching, dim_t context, dim_t batch, token_t bos,
          std::uint64_t seed, bool shuffled);

  dim_t batches_per_epoch() const { return batches_per_epoch_; }
  bool carries_state() const { return batching_ == Batching::stream; }
  dim_t batch_size() const { return batch_; }  ///< as asked for: no batch has more sequences

  const BatchPosition& position() const { return position_; }
  /// Costs nothing; the first batch of an epoch costs one shuffle of its sequences. Throws
  /// DataError for a position that this split does not have.
  void seek(BatchPosition position);

  /// True if the next batch is the first of an epoch (a carried state starts at zero there).
  bool at_epoch_start() const { return position_.batch == 0; }
  /// Fills `out` (reusing its memory) and moves on, into the next epoch after the last batch. A
  /// share of a small batch may have no sequence.
  void next(TokenBatch& out, BatchShare share = {});
  /// Targets of the whole batch that was handed out last.
  dim_t last_batch_tokens() const { return last_batch_tokens_; }

 private:
  /// A sequence: the targets tokens[first, first + length).
  struct Sequence {
    dim_t first = 0;
    dim_t length = 0;
  };

  void plan_sentences();
  void plan_blocks();
  void plan_stream();
  void group_sequences();
  void order_epoch(dim_t epoch);
  void gather(dim_t batch);
  void keep(BatchShare share);
  void fill(TokenBatch& out) const;

  const Split* split_;
  Batching batching_;
  dim_t context_;
  dim_t batch_;
  token_t bos_;
  std::uint64_t seed_;
  bool shuffled_;

  std::vector<Sequence> sequences_;  // sentences and blocks, in the text's order
  std::vector<dim_t> order_;         // of an epoch: positions in sequences_
  dim_t ordered_epoch_ = -1;         // the epoch that order_ is for
  dim_t stream_length_ = 0;          // targets of each stream
  dim_t batches_per_epoch_ = 0;
  dim_t last_batch_tokens_ = 0;
  BatchPosition position_;
  std::vector<Sequence> chosen_;  // those of the batch being filled
};

}  // namespace dsf
