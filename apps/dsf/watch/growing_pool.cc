#include "apps/dsf/watch/growing_pool.h"

#include <utility>

namespace dsf {

GrowingPool::Enqueued GrowingPool::enqueue(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  if (tasks_.size() > idle_ && threads_.size() < most_) {
    threads_.emplace_back([this] { work(); });
  }
  news_.notify_one();
  return static_cast<Enqueued>(true);
}

void GrowingPool::shutdown() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  news_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void GrowingPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    news_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace dsf
