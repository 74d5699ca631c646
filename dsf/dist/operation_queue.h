#pragma once

// A thread that runs operations one after the other, in the order they were handed in, beside the
// thread that hands them in.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace dsf {

/// Owns the thread and the operations that wait for it. MpiEngine has one and hands in what the
/// training thread asks for.
class OperationQueue {
 public:
  /// `when_idle` is called on the queue's thread, every `interval` while there is nothing to do.
  OperationQueue(std::function<void()> when_idle, std::chrono::milliseconds interval);
  /// Runs what was handed in to the end first.
  ~OperationQueue();
  OperationQueue(const OperationQueue&) = delete;
  OperationQueue& operator=(const OperationQueue&) = delete;

  /// Returns its number: 1, 2, ...
  std::int64_t submit(std::function<void()> operation);
  /// Until operation `number` is done. Rethrows what an operation up to it threw.
  void wait(std::int64_t number);

  std::int64_t submitted() const { return submitted_.load(std::memory_order_relaxed); }
  std::int64_t begun() const { return begun_.load(std::memory_order_relaxed); }
  double busy_seconds() const { return busy_seconds_.load(std::memory_order_relaxed); }

 private:
  void work();
  void run(const std::function<void()>& operation);

  std::function<void()> when_idle_;
  std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::condition_variable done_;
  std::deque<std::function<void()>> waiting_;
  std::int64_t finished_ = 0;
  std::exception_ptr failure_;
  bool stop_ = false;
  std::atomic<std::int64_t> submitted_{0};
  std::atomic<std::int64_t> begun_{0};
  std::atomic<double> busy_seconds_{0.0};
  std::thread thread_;
};

}  // namespace dsf
