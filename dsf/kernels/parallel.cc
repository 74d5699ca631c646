#include "dsf/kernels/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "dsf/base/error.h"
#include "dsf/kernels/task_crew.h"

namespace dsf {
namespace {

// What serves parallel_for on this thread in place of the pool, and how many members it has.
struct Lent {
  TaskCrew* crew = nullptr;
  int members = 0;
};
thread_local Lent t_lent;

// A crew whose members are threads of its own, one caller at a time.
class Pool {
 public:
  // Runs the job on the caller and up to `threads` - 1 workers. False, with nothing done, where the
  // pool serves another thread just now or has been shut down.
  bool run(int threads, dim_t tasks, detail::TaskFunction function, void* context) {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    const Free free(busy_);
    resize(threads - 1);
    crew_.run(static_cast<int>(workers_.size()), tasks, function, context);
    return true;
  }

  // Ends the workers for good, unless a job is running: then the process is going down in the
  // middle of one (exit() inside a task) and the workers go with it.
  void shut_down() {
    if (!busy_.exchange(true, std::memory_order_acquire)) resize(0);
  }

 private:
  struct Free {
    explicit Free(std::atomic<bool>& busy) : busy_(busy) {}
    ~Free() { busy_.store(false, std::memory_order_release); }
    Free(const Free&) = delete;
    Free& operator=(const Free&) = delete;
    std::atomic<bool>& busy_;
  };

  // Where the system gives no more threads, the job runs on those there are; they are not asked for
  // again until another number is wanted.
  void resize(int workers) {
    if (workers == wanted_) return;
    wanted_ = workers;
    const auto count = static_cast<std::size_t>(workers);
    if (workers_.size() > count) {
      crew_.dismiss();
      for (std::thread& worker : workers_) worker.join();
      workers_.clear();
      crew_.recall();
    }
    const std::uint32_t seen = crew_.call_count();
    try {
      while (workers_.size() < count) {
        workers_.emplace_back([this, seen] {
          flush_denormals();
          crew_.serve(seen);
        });
      }
    } catch (const std::system_error&) {
    }
  }

  std::atomic<bool> busy_{false};
  int wanted_ = 0;  // workers
  std::vector<std::thread> workers_;
  TaskCrew crew_;
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

LentMembers::LentMembers(TaskCrew& crew, int members) { t_lent = {&crew, members}; }
LentMembers::~LentMembers() { t_lent = {}; }

bool LentMembers::are_here() { return t_lent.crew != nullptr; }

namespace detail {

void run_tasks(dim_t tasks, TaskFunction function, void* context) {
  flush_denormals();
  if (inside_parallel_task()) return run_serially(tasks, function, context);
  if (tasks > 1 && t_lent.crew != nullptr) {
    return t_lent.crew->run(t_lent.members, tasks, function, context);
  }
  const int threads = thread_count();
  if (tasks > 1 && threads > 1 && pool().run(threads, tasks, function, context)) return;
  const InsideTask inside;
  run_serially(tasks, function, context);
}

}  // namespace detail
}  // namespace dsf
