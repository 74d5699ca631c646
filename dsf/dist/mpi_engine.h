#pragma once

// All calls of MPI in this process, made by one thread of its own: the communication thread.
//
// MPI moves data only while it is called. The communication thread calls it again and again while
// an operation is under way, and sleeps in between, so that messages travel while the other threads
// compute and a waiting rank takes no CPU from a working one. Between two calls it sends and hears
// the watchdog's pulses.

#include <mpi.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "dsf/base/timer.h"
#include "dsf/dist/operation_queue.h"
#include "dsf/dist/watchdog.h"

namespace dsf {

/// Owns MPI itself, from MPI_Init_thread to MPI_Finalize, the communication thread and its queue.
/// One per process: its communicators share it and hand it every operation.
class MpiEngine {
 public:
  /// Calls MPI_Init_thread.
  MpiEngine();
  /// Waits for all ranks and calls MPI_Finalize.
  ~MpiEngine();
  MpiEngine(const MpiEngine&) = delete;
  MpiEngine& operator=(const MpiEngine&) = delete;

  OperationQueue& queue() { return *queue_; }
  /// Hands an operation in and waits for it.
  void run(std::function<void()> operation);

  /// On the communication thread: calls MPI until the request is done.
  void complete(MPI_Request& request);

  [[noreturn]] void abort(int exit_code);
  void watch(double seconds);
  void excuse(bool busy) { excused_.store(busy, std::memory_order_relaxed); }

 private:
  void look_around();
  void exchange_pulses();
  void send_pulse(std::int64_t last);
  void end_pulses();
  void finalize();

  std::atomic<int> abort_code_{kNoAbort};
  std::atomic<bool> excused_{false};

  // Of the communication thread alone.
  int rank_ = 0;
  int size_ = 1;
  MPI_Comm pulses_ = MPI_COMM_NULL;
  std::optional<Watchdog> watchdog_;
  Pulse sent_;
  Pulse heard_;
  MPI_Request sending_ = MPI_REQUEST_NULL;
  MPI_Request hearing_ = MPI_REQUEST_NULL;
  Timer since_look_;

  static constexpr int kNoAbort = -1;
  std::unique_ptr<OperationQueue> queue_;
};

}  // namespace dsf
