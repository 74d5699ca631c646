#pragma once

// One update by all ranks together: the sum of their gradients, its norm, Adam.
//
// The flat gradient is cut into buckets, counted from its end, because the backward pass fills it
// from the end: the head first, the embedding last. A bucket sets out as soon as it is filled and
// travels while the layers before it still compute.
//
//   plain      every bucket is summed on all ranks, and all of them do the same update
//   sharded    of each bucket a rank receives the sum of its own part only, keeps the moments of
//              that part only, updates it, and sends the new weights to the others
//   compressed gradients travel as bf16. What rounding takes off is kept and added to the next
//              gradient (error feedback), so nothing is lost, only late
//
// With one rank all of it is a plain update.

#include <span>
#include <vector>

#include "dsf/base/buffer.h"
#include "dsf/dist/communicator.h"
#include "dsf/optim/adam.h"

namespace dsf {

/// Which of the forms above to take.
struct SyncOptions {
  bool shard_optimizer = false;
  bool compress = false;
  bool overlap = true;  ///< false: all buckets set out after the backward pass, to compare with
  dim_t bucket = 0;     ///< floats; 0: default_bucket
};

/// A sixteenth of the gradient, so that what travels last is little; but no less than 256 KiB,
/// below which a message's latency weighs more than its bytes, and no more than 16 MiB.
dim_t default_bucket(dim_t flat_size);

/// The buckets in the order in which they set out: from the end of the flat buffers to their
/// beginning.
std::vector<FlatRange> cut_buckets(dim_t flat_size, dim_t bucket);

/// Owns the buckets, what rounding has taken off, and with shards the part of the gradient that is
/// this rank's. The trainer owns one; in each step the backward pass calls ready() as gradients
/// become final, and the training step the other functions after it.
class GradientSync {
 public:
  /// `ranks` must outlive it.
  GradientSync(Communicator& ranks, dim_t flat_size, const SyncOptions& options);

  /// All gradients from `first` on are final (GradientsReady). Called with falling `first`, 0 last.
  /// `gradients` must stay where they are until finish().
  void ready(std::span<float> gradients, dim_t first);
  /// Until the sums are there: in `gradients` or, sharded, in this rank's own part.
  void finish();
  /// Of the summed gradient.
  double norm(std::span<const float> gradients);
  /// adam_update by all ranks; all hold the same weights afterwards. `adam` has optimizer_size()
  /// moments, or none before the first update.
  void update(const AdamConfig& config, double learning_rate, double gradient_scale,
              std::span<const float> gradients, AdamState& adam, std::span<float> weights);

  bool sharded() const { return sharded_; }
  /// Moments of each kind that this rank keeps.
  dim_t optimizer_size() const { return sharded_ ? shard_size_ : flat_size_; }
  /// The moments of all ranks, on rank 0; the others get none. Called by all.
  AdamState gather_moments(const AdamState& own);
  /// This rank's moments out of all.
  AdamState own_moments(AdamState all) const;

  /// Seconds spent in waiting for others' numbers, since the beginning: communication that nothing
  /// hides.
  double exposed_seconds() const { return exposed_seconds_; }

 private:
  struct Bucket {
    FlatRange range;  ///< of the flat buffers
    FlatRange part;   ///< this rank's, of the flat buffers
    dim_t place = 0;  ///< where the part lies in the shard
  };

  void start(std::span<float> gradients, const Bucket& bucket);
  void start_compressed(std::span<float> gradients, const Bucket& bucket);
  std::span<float> shard_part(Buffer<float>& shard, const Bucket& bucket) const;
  void gather(const Buffer<float>& own, Buffer<float>& all);
  Buffer<float> own_part(const Buffer<float>& all) const;
  void wait(Ticket ticket);

  Communicator& ranks_;
  SyncOptions options_;
  dim_t flat_size_;
  bool alone_;
  bool sharded_;
  std::vector<Bucket> buckets_;
  std::size_t next_ = 0;  // the first bucket that has not set out
  Ticket last_ = 0;
  dim_t shard_size_ = 0;
  Buffer<float> shard_gradient_;  // sharded or compressed: the summed parts
  Buffer<float> shard_weights_;   // sharded
  // Compressed: what travels, and what rounding has taken off so far.
  Buffer<bf16_t> sent_;
  Buffer<bf16_t> sent_part_;
  Buffer<float> residual_;
  Buffer<float> part_residual_;
  double exposed_seconds_ = 0.0;
};

}  // namespace dsf
