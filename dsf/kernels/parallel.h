#pragma once

// The one thread pool of the process, and the rule that makes results independent of its size:
//
//   Work is cut into tasks by the shape of the problem alone, never by the number of threads,
//   unless every cut gives the same bits. A task computes the same bits whoever runs it, and no two
//   tasks write the same place.
//
// The calling thread takes part. Tasks are handed out dynamically, in order. A parallel_for inside
// a task runs serially on the thread it is on. All threads flush denormals to zero.

#include <type_traits>

#include "dsf/base/dim.h"

namespace dsf {

/// More than any machine has.
inline constexpr int kMostThreads = 4096;

/// Threads used by parallel_for, the caller included. Default: the CPUs this process may run on.
int thread_count();
/// Takes effect from the next parallel_for on. Not to be called from inside a task. count >= 1.
void set_thread_count(int count);
/// True while this thread runs a task of parallel_for.
bool inside_parallel_task();
/// Denormal inputs and results count as zero on this thread from here on. parallel_for does this
/// for the thread that calls it and for the workers.
void flush_denormals();

/// The same as long as this lives; afterwards the thread's floating-point mode is what it was. For calls
/// from a host program, whose mode is its own affair.
class FlushedDenormals {
 public:
  FlushedDenormals();
  ~FlushedDenormals();
  FlushedDenormals(const FlushedDenormals&) = delete;
  FlushedDenormals& operator=(const FlushedDenormals&) = delete;

 private:
  unsigned before_;
};

namespace detail {
using TaskFunction = void (*)(void* context, dim_t task);
void run_tasks(dim_t tasks, TaskFunction function, void* context);
}  // namespace detail

/// Calls body(task) once for every task in [0, tasks); returns when all are done. Where tasks
/// throw, the exception of the lowest-numbered one is rethrown here once the running tasks have
/// ended; tasks not yet begun are left out.
template <typename Body>
void parallel_for(dim_t tasks, Body&& body) {
  detail::run_tasks(
      tasks,
      [](void* context, dim_t task) {
        (*static_cast<std::remove_reference_t<Body>*>(context))(task);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}

/// How many tasks of at most `grain` items cover `items`, and the half-open range of each.
constexpr dim_t task_count(dim_t items, dim_t grain) { return ceil_div(items, grain); }

/// parallel_for over [0, items) in ranges of `grain`: body(begin, end).
template <typename Body>
void parallel_ranges(dim_t items, dim_t grain, Body&& body) {
  parallel_for(task_count(items, grain), [&](dim_t task) {
    const dim_t begin = task * grain;
    const dim_t end = begin + grain < items ? begin + grain : items;
    body(begin, end);
  });
}

}  // namespace dsf
