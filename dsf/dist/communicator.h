#pragma once

// The ranks of a run: processes that each hold the whole model and train on a part of each batch.
//
// Every rank calls the same operations in the same order. Operations that are started run one after
// the other beside the caller; their buffers must neither move nor be touched until wait() has
// returned. After an all-reduce, an all-gather or a broadcast all ranks hold the same bits.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "dsf/base/bf16.h"
#include "dsf/base/dim.h"

namespace dsf {

/// Half-open range of a flat array.
struct FlatRange {
  dim_t begin = 0;
  dim_t end = 0;

  dim_t size() const { return end - begin; }
  bool operator==(const FlatRange&) const = default;
};

/// Part `index` of `count` nearly equal parts of an array of `size` elements.
FlatRange part_of(dim_t size, int index, int count);

/// Names an operation that was started; later ones have larger tickets.
using Ticket = std::int64_t;

/// This process's place among the ranks, and the operations between them. The program makes one at
/// its start (dsf/dist/launch.h); the trainer and what it owns call it from the training thread.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int local_ranks() const = 0;  ///< ranks on this machine, this one included
  bool leads() const { return rank() == 0; }

  /// values <- sum of all ranks' values, summed in the order of the ranks.
  virtual Ticket start_all_reduce(std::span<float> values) = 0;
  /// part <- this rank's part_of the same sum.
  virtual Ticket start_reduce_scatter(std::span<const float> values, std::span<float> part) = 0;
  /// The same; the numbers travel as bf16 and are summed in f32.
  virtual Ticket start_reduce_scatter(std::span<const bf16_t> values, std::span<float> part) = 0;
  /// values <- every rank's `part`, side by side; the parts are those of part_of.
  virtual Ticket start_all_gather(std::span<const float> part, std::span<float> values) = 0;
  virtual Ticket start_all_gather(std::span<const bf16_t> part, std::span<bf16_t> values) = 0;
  /// Work of this rank alone, after what was started before it and before what is started later.
  virtual Ticket start_local(std::function<void()> work) = 0;
  /// Until this operation, and with it all before it, is done.
  virtual void wait(Ticket ticket) = 0;

  virtual void all_reduce(std::span<double> values) = 0;
  /// values <- those of rank 0.
  virtual void broadcast(std::span<std::byte> values) = 0;
  /// Until all ranks have come here.
  virtual void barrier() = 0;
  /// Ends all ranks, and the job with this exit code. Needs no other rank's help.
  [[noreturn]] virtual void abort(int exit_code) = 0;

  /// From here on a rank that stops or keeps the others waiting for this long ends the job, with a
  /// message that names it. Called by all ranks.
  virtual void watch(double seconds) = 0;
  /// While `busy`, others may wait for this rank as long as they have to (it writes a file). That
  /// its process lives is watched all the same.
  virtual void excuse(bool busy) = 0;

  /// A communicator of ranks 0 to count - 1 alone; null for the others. Called by all ranks.
  virtual std::unique_ptr<Communicator> first_ranks(int count) = 0;
  /// Seconds that operations have taken so far, waiting for other ranks included.
  virtual double busy_seconds() const = 0;
};

/// excuse(), for a scope.
class Excused {
 public:
  explicit Excused(Communicator& ranks) : ranks_(ranks) { ranks_.excuse(true); }
  ~Excused() { ranks_.excuse(false); }
  Excused(const Excused&) = delete;
  Excused& operator=(const Excused&) = delete;

 private:
  Communicator& ranks_;
};

}  // namespace dsf
