#include "dsf/dist/operation_queue.h"

#include <utility>

#include "dsf/base/timer.h"

namespace dsf {

OperationQueue::OperationQueue(std::function<void()> when_idle, std::chrono::milliseconds interval)
    : when_idle_(std::move(when_idle)), interval_(interval), thread_([this] { work(); }) {}

OperationQueue::~OperationQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  more_.notify_one();
  thread_.join();
}

std::int64_t OperationQueue::submit(std::function<void()> operation) {
  std::int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(operation));
    number = submitted_.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  more_.notify_one();
  return number;
}

void OperationQueue::wait(std::int64_t number) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return finished_ >= number || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

void OperationQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool woken = more_.wait_for(lock, interval_, [&] { return stop_ || !waiting_.empty(); });
    if (!waiting_.empty()) {
      const std::function<void()> operation = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      run(operation);
      lock.lock();
      finished_ += 1;
      done_.notify_all();
    } else if (woken) {
      return;  // asked to stop, and nothing is left
    } else {
      lock.unlock();
      when_idle_();
      lock.lock();
    }
  }
}

void OperationQueue::run(const std::function<void()>& operation) {
  begun_.fetch_add(1, std::memory_order_relaxed);
  const Timer timer;
  try {
    operation();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  busy_seconds_.store(busy_seconds() + timer.seconds(), std::memory_order_relaxed);
}

}  // namespace dsf
