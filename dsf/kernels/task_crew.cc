#include "dsf/kernels/task_crew.h"

#include <xmmintrin.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace dsf {
namespace {

// How long a thread without work watches for some before it sleeps: longer than the serial
// stretches between two kernels of a training step, short against a scheduler's time slice.
constexpr std::chrono::microseconds kSpin{30};

thread_local bool t_inside_task = false;

// Watches for `ready` for the spinning time; says whether it came.
template <typename Ready>
bool spin_until(Ready ready) {
  constexpr int kPausesPerLook = 16;
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      if (ready()) return true;
      _mm_pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

}  // namespace

InsideTask::InsideTask() { t_inside_task = true; }
InsideTask::~InsideTask() { t_inside_task = false; }

bool inside_parallel_task() { return t_inside_task; }

void TaskCrew::run(int members, dim_t tasks, detail::TaskFunction function, void* context) {
  function_ = function;
  context_ = context;
  tasks_ = tasks;
  failed_task_ = tasks;
  next_.store(0, std::memory_order_relaxed);
  state_.store(kOpen, std::memory_order_release);
  wake(members, tasks - 1);

  work();
  state_.fetch_and(~kOpen, std::memory_order_acq_rel);
  wait_for_members();

  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void TaskCrew::serve(std::uint32_t seen) {
  for (;;) {
    const auto called = [&] { return calls_.load(std::memory_order_acquire) != seen; };
    if (!spin_until(called)) calls_.wait(seen, std::memory_order_acquire);
    seen = calls_.load(std::memory_order_acquire);
    if (dismissed_.load(std::memory_order_relaxed)) return;
    if (join_job()) {
      work();
      leave_job();
    }
  }
}

void TaskCrew::dismiss() {
  dismissed_.store(true, std::memory_order_relaxed);
  calls_.fetch_add(1, std::memory_order_release);
  calls_.notify_all();
}

void TaskCrew::wake(dim_t members, dim_t wanted) {
  calls_.fetch_add(1, std::memory_order_release);
  if (wanted >= members) {
    calls_.notify_all();
  } else {
    for (dim_t i = 0; i < wanted; ++i) calls_.notify_one();
  }
}

bool TaskCrew::join_job() {
  std::uint32_t state = state_.load(std::memory_order_relaxed);
  while ((state & kOpen) != 0) {
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void TaskCrew::leave_job() {
  if (state_.fetch_sub(1, std::memory_order_acq_rel) == 1) state_.notify_one();
}

void TaskCrew::wait_for_members() {
  const auto all_left = [&] { return state_.load(std::memory_order_acquire) == 0; };
  if (spin_until(all_left)) return;
  for (std::uint32_t state = state_.load(std::memory_order_acquire); state != 0;
       state = state_.load(std::memory_order_acquire)) {
    state_.wait(state, std::memory_order_acquire);
  }
}

void TaskCrew::work() {
  const InsideTask inside;
  for (;;) {
    const dim_t task = next_.fetch_add(1, std::memory_order_relaxed);
    if (task >= tasks_) return;
    try {
      function_(context_, task);
    } catch (...) {
      fail(task, std::current_exception());
    }
  }
}

// Tasks are handed out in order, so every task below a failed one has begun and will report: the
// lowest failure is the same for any number of threads.
void TaskCrew::fail(dim_t task, std::exception_ptr failure) {
  next_.store(tasks_, std::memory_order_relaxed);
  const std::lock_guard lock(failure_mutex_);
  if (task < failed_task_) {
    failed_task_ = task;
    failure_ = std::move(failure);
  }
}

}  // namespace dsf
