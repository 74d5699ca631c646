#include "dsf/kernels/host_team.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "dsf/kernels/parallel.h"
#include "dsf/kernels/task_crew.h"

namespace dsf::detail {
namespace {

using Clock = std::chrono::steady_clock;

// A host's thread that comes late, because another process has its CPU, holds up the whole call, where one of the
// pool's would be left out. After a call that had to wait so long the pool serves the next ones.
constexpr std::chrono::microseconds kLate{200};
constexpr int kCallsWithoutTeam = 64;
std::atomic<int> g_calls_without_team{0};

bool team_was_late() {
  int calls = g_calls_without_team.load(std::memory_order_relaxed);
  while (calls > 0 &&
         !g_calls_without_team.compare_exchange_weak(calls, calls - 1, std::memory_order_relaxed)) {
  }
  return calls > 0;
}

struct Call {
  int threads;
  void (*body)(void* context);
  void* context;
  std::thread::id caller = std::this_thread::get_id();
  TaskCrew crew = {};
  std::exception_ptr failure = {};
  Clock::time_point done = {};
};

void lead(Call& call) {
  const LentMembers lent(call.crew, call.threads - 1);
  try {
    call.body(call.context);
  } catch (...) {  // may not leave through the host's frames
    call.failure = std::current_exception();
  }
  call.crew.dismiss();
  call.done = Clock::now();
}

void member(void* context) {
  Call& call = *static_cast<Call*>(context);
  if (std::this_thread::get_id() == call.caller) return lead(call);
  const FlushedDenormals flushed;
  call.crew.serve(0);
}

}  // namespace

void with_host_team(HostTeam team, int threads, void (*body)(void* context), void* context) {
  if (threads < 2 || inside_parallel_task() || LentMembers::are_here() || team_was_late()) {
    return body(context);
  }
  Call call{.threads = threads, .body = body, .context = context};
  team(member, &call, static_cast<unsigned>(threads), 0);
  if (Clock::now() - call.done > kLate) g_calls_without_team = kCallsWithoutTeam;
  if (call.failure) std::rethrow_exception(call.failure);
}

}  // namespace dsf::detail
