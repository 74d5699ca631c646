#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "dsf/kernels/parallel.h"

namespace dsf {

/// While it lives, this thread is inside a task: a parallel_for on it runs serially.
class InsideTask {
 public:
  InsideTask();
  ~InsideTask();
  InsideTask(const InsideTask&) = delete;
  InsideTask& operator=(const InsideTask&) = delete;
};

// Hands out the tasks of one job at a time: to the thread that runs the job, and to the members, threads
// that serve here until they are dismissed. Who gives it members decides where the threads come from: the
// pool of parallel.cc owns some, a host team (host_team.h) lends its own.
//
// Members join the current job if they come while it is open. The caller closes it when no task is left to
// hand out and then waits only for those who did join: a member that wakes late, on a busy machine, holds
// nobody up.
class TaskCrew {
 public:
  /// Runs the job on the caller and on those of the `members` that come in time. One caller at a time.
  void run(int members, dim_t tasks, detail::TaskFunction function, void* context);

  /// A member's life: waits for jobs and works at them, until dismiss(). `seen` is call_count() of a time
  /// before which no job was meant for it.
  void serve(std::uint32_t seen);
  std::uint32_t call_count() const { return calls_.load(std::memory_order_relaxed); }

  /// All members leave, those who come later too. Not while a job runs.
  void dismiss();
  /// The next members stay. Not before the dismissed ones have left.
  void recall() { dismissed_.store(false, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kOpen = 1U << 31U;

  void wake(dim_t members, dim_t wanted);
  bool join_job();
  void leave_job();
  void wait_for_members();
  void work();
  void fail(dim_t task, std::exception_ptr failure);

  std::atomic<bool> dismissed_{false};

  // The job. Written by the caller while the job is closed and nobody is inside.
  detail::TaskFunction function_ = nullptr;
  void* context_ = nullptr;
  dim_t tasks_ = 0;

  std::mutex failure_mutex_;
  dim_t failed_task_ = 0;
  std::exception_ptr failure_;

  // Each on a cache line of its own: spinning readers do not slow the counter down.
  alignas(64) std::atomic<dim_t> next_{0};
  alignas(64) std::atomic<std::uint32_t> state_{
      0};  // kOpen while members may join, plus those inside
  alignas(64) std::atomic<std::uint32_t> calls_{0};
};

/// While it lives, the members of `crew` work at every parallel_for of this thread, and the pool does not.
class LentMembers {
 public:
  LentMembers(TaskCrew& crew, int members);
  ~LentMembers();
  LentMembers(const LentMembers&) = delete;
  LentMembers& operator=(const LentMembers&) = delete;

  static bool are_here();
};

}  // namespace dsf
