#pragma once

#include "dsf/kernels/parallel.h"

namespace dsf::testing {

/// Sets the number of threads for the rest of a scope.
class ThreadGuard {
 public:
  explicit ThreadGuard(int count) : before_(thread_count()) { set_thread_count(count); }
  ~ThreadGuard() { set_thread_count(before_); }
  ThreadGuard(const ThreadGuard&) = delete;
  ThreadGuard& operator=(const ThreadGuard&) = delete;

 private:
  int before_;
};

/// The bits of `compute()` (anything comparable) with one thread and with three.
template <typename Compute>
bool same_with_any_thread_count(Compute compute) {
  const ThreadGuard one(1);
  const auto alone = compute();
  const ThreadGuard three(3);
  return alone == compute();
}

}  // namespace dsf::testing
