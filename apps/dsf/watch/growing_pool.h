#pragma once

// Threads for the connections of a server, as many as there are connections.

#include <httplib.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace dsf {

/// Starts a thread whenever none is free, up to `most`: a fixed number of threads is blocked by as
/// many connections that send nothing. Threads stay for the next connection.
class GrowingPool final : public httplib::TaskQueue {
 public:
  explicit GrowingPool(std::size_t most) : most_(most) {}
  ~GrowingPool() override { shutdown(); }
  GrowingPool(const GrowingPool&) = delete;
  GrowingPool& operator=(const GrowingPool&) = delete;

  /// What it returns differs between versions of cpp-httplib: nothing, or whether the task was taken.
  using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));
  Enqueued enqueue(std::function<void()> task) override;
  /// Waits for the tasks that were begun and those that wait.
  void shutdown() override;

 private:
  void work();

  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool ending_ = false;
};

}  // namespace dsf
