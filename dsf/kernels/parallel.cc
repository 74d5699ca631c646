#include "dsf/kernels/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "dsf/base/error.h"

namespace dsf {
namespace {

// How long a thread without work watches for some before it sleeps: longer than the serial
// stretches between two kernels of a training step, short against a scheduler's time slice.
constexpr std::chrono::microseconds kSpin{30};

thread_local bool t_inside_task = false;

class InsideTask {
 public:
  InsideTask() { t_inside_task = true; }
  ~InsideTask() { t_inside_task = false; }
  InsideTask(const InsideTask&) = delete;
  InsideTask& operator=(const InsideTask&) = delete;
};

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

// Workers join the current job if they come while it is open. The caller closes it when no task is
// left to hand out and then waits only for those who did join: a worker that wakes late, on a busy
// machine, holds nobody up.
class Pool {
 public:
  // Runs the job on the caller and up to `threads` - 1 workers. False, with nothing done, where the
  // pool serves another thread just now or has been shut down.
  bool run(int threads, dim_t tasks, detail::TaskFunction function, void* context) {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    resize(threads - 1);
    function_ = function;
    context_ = context;
    tasks_ = tasks;
    failed_task_ = tasks;
    next_.store(0, std::memory_order_relaxed);
    state_.store(kOpen, std::memory_order_release);
    wake(std::min<dim_t>(tasks - 1, threads - 1));

    work();
    state_.fetch_and(~kOpen, std::memory_order_acq_rel);
    wait_for_workers();

    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    busy_.store(false, std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
    return true;
  }

  // Ends the workers for good, unless a job is running: then the process is going down in the
  // middle of one (exit() inside a task) and the workers go with it.
  void shut_down() {
    if (!busy_.exchange(true, std::memory_order_acquire)) resize(0);
  }

 private:
  static constexpr std::uint32_t kOpen = 1U << 31U;

  // Where the system gives no more threads, the job runs on those there are; they are not asked for
  // again until another number is wanted.
  void resize(int workers) {
    if (workers == wanted_) return;
    wanted_ = workers;
    const auto count = static_cast<std::size_t>(workers);
    if (workers_.size() > count) {
      stop_.store(true, std::memory_order_relaxed);
      wake(static_cast<dim_t>(workers_.size()));
      for (std::thread& worker : workers_) worker.join();
      workers_.clear();
      stop_.store(false, std::memory_order_relaxed);
    }
    const std::uint32_t seen = generation_.load(std::memory_order_relaxed);
    try {
      while (workers_.size() < count) workers_.emplace_back([this, seen] { worker_main(seen); });
    } catch (const std::system_error&) {
    }
  }

  void wake(dim_t workers) {
    generation_.fetch_add(1, std::memory_order_release);
    if (workers >= static_cast<dim_t>(workers_.size())) {
      generation_.notify_all();
    } else {
      for (dim_t i = 0; i < workers; ++i) generation_.notify_one();
    }
  }

  void worker_main(std::uint32_t seen) {
    flush_denormals();
    for (;;) {
      const auto changed = [&] { return generation_.load(std::memory_order_acquire) != seen; };
      if (!spin_until(changed)) generation_.wait(seen, std::memory_order_acquire);
      seen = generation_.load(std::memory_order_acquire);
      if (stop_.load(std::memory_order_relaxed)) return;
      if (join_job()) {
        work();
        leave_job();
      }
    }
  }

  // state_ = kOpen while workers may join, plus the number of workers inside the job.
  bool join_job() {
    std::uint32_t state = state_.load(std::memory_order_relaxed);
    while ((state & kOpen) != 0) {
      if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  void leave_job() {
    if (state_.fetch_sub(1, std::memory_order_acq_rel) == 1) state_.notify_one();
  }

  void wait_for_workers() {
    const auto all_left = [&] { return state_.load(std::memory_order_acquire) == 0; };
    if (spin_until(all_left)) return;
    for (std::uint32_t state = state_.load(std::memory_order_acquire); state != 0;
         state = state_.load(std::memory_order_acquire)) {
      state_.wait(state, std::memory_order_acquire);
    }
  }

  void work() {
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
  void fail(dim_t task, std::exception_ptr failure) {
    next_.store(tasks_, std::memory_order_relaxed);
    const std::lock_guard lock(failure_mutex_);
    if (task < failed_task_) {
      failed_task_ = task;
      failure_ = std::move(failure);
    }
  }

  std::atomic<bool> busy_{false};
  int wanted_ = 0;  // workers
  std::vector<std::thread> workers_;
  std::atomic<bool> stop_{false};

  // The job. Written by the caller while the job is closed and nobody is inside.
  detail::TaskFunction function_ = nullptr;
  void* context_ = nullptr;
  dim_t tasks_ = 0;

  std::mutex failure_mutex_;
  dim_t failed_task_ = 0;
  std::exception_ptr failure_;

  // Each on a cache line of its own: spinning readers do not slow the counter down.
  alignas(64) std::atomic<dim_t> next_{0};
  alignas(64) std::atomic<std::uint32_t> state_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
};

// Never freed, so that a parallel_for in a late destructor still finds it (shut down: it runs
// serially). After fork() the child has no workers and starts with a fresh pool.
std::atomic<Pool*> g_pool{nullptr};

struct ShutDownAtExit {
  ShutDownAtExit() = default;
  ~ShutDownAtExit() { g_pool.load(std::memory_order_acquire)->shut_down(); }
  ShutDownAtExit(const ShutDownAtExit&) = delete;
  ShutDownAtExit& operator=(const ShutDownAtExit&) = delete;
};

void renew_pool() { g_pool.store(new Pool, std::memory_order_release); }

Pool& pool() {
  static const bool made = [] {
    renew_pool();
    pthread_atfork(nullptr, nullptr, renew_pool);
    return true;
  }();
  static const ShutDownAtExit shut_down_at_exit;
  static_cast<void>(made);
  return *g_pool.load(std::memory_order_acquire);
}

int affinity_cpus() {
  // The kernel refuses a mask smaller than its own, so grow until it fits.
  for (int capacity = 1024; capacity <= (1 << 20); capacity *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(static_cast<std::size_t>(capacity)), [](cpu_set_t* s) { CPU_FREE(s); });
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity));
    if (set != nullptr && sched_getaffinity(0, bytes, set.get()) == 0) {
      return std::max(1, CPU_COUNT_S(bytes, set.get()));
    }
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::atomic<int>& wanted_threads() {
  static std::atomic<int> count{affinity_cpus()};
  return count;
}

void set_flushing() {
  constexpr unsigned kFlushToZero = 1U << 15U;
  constexpr unsigned kDenormalsAreZero = 1U << 6U;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
}

void run_serially(dim_t tasks, detail::TaskFunction function, void* context) {
  for (dim_t task = 0; task < tasks; ++task) function(context, task);
}

}  // namespace

int thread_count() { return wanted_threads().load(std::memory_order_relaxed); }

void set_thread_count(int count) {
  if (count < 1) throw UsageError("thread count is " + std::to_string(count) + ", must be >= 1");
  wanted_threads().store(count, std::memory_order_relaxed);
}

bool inside_parallel_task() { return t_inside_task; }

void flush_denormals() {
  thread_local bool done = false;
  if (done) return;
  set_flushing();
  done = true;
}

FlushedDenormals::FlushedDenormals() : before_(_mm_getcsr()) {
  flush_denormals();  // from here on parallel_for leaves the mode alone
  set_flushing();
}

FlushedDenormals::~FlushedDenormals() { _mm_setcsr(before_); }

namespace detail {

void run_tasks(dim_t tasks, TaskFunction function, void* context) {
  flush_denormals();
  if (t_inside_task) return run_serially(tasks, function, context);
  const int threads = thread_count();
  if (tasks > 1 && threads > 1 && pool().run(threads, tasks, function, context)) return;
  const InsideTask inside;
  run_serially(tasks, function, context);
}

}  // namespace detail
}  // namespace dsf
