#include "dsf/kernels/host_team.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <xmmintrin.h>

#include "dsf/kernels/parallel.h"
#include "tests/support/thread_guard.h"

namespace dsf {
namespace {

using testing::ThreadGuard;

// What the hosts of these tests are to do, and what they did.
std::atomic<int> g_calls{0};
std::atomic<int> g_members{0};
std::atomic<int> g_late_ms{0};
std::atomic<bool> g_mode_was_kept{true};
std::mutex g_mutex;
std::set<std::thread::id> g_threads;

// As GOMP_parallel does: the caller takes part, and all wait for all.
void host(void (*member)(void*), void* context, unsigned threads, unsigned /*flags*/) {
  ++g_calls;
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i) {
    others.emplace_back([=] {
      {
        const std::lock_guard lock(g_mutex);
        g_threads.insert(std::this_thread::get_id());
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(g_late_ms));
      ++g_members;
      const unsigned mode = _mm_getcsr();
      member(context);
      if (_mm_getcsr() != mode) g_mode_was_kept = false;
    });
  }
  member(context);
  for (std::thread& other : others) other.join();
}

// Less threads came than were asked for.
void lonely_host(void (*member)(void*), void* context, unsigned /*threads*/, unsigned /*flags*/) {
  ++g_calls;
  member(context);
}

// While a team counts as late the pool serves, so that a busy machine does not decide what is tested.
template <typename Body>
void with_team_for_sure(HostTeam team, Body&& body) {
  for (const int before = g_calls; g_calls == before;) with_host_team(team, 3, body);
}

TEST(HostTeam, RunsEveryTaskOnceOnItsThreadsAlone) {
  const ThreadGuard guard(3);
  for (const dim_t tasks : {1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
    std::set<std::thread::id> seen;
    with_team_for_sure(host, [&] {
      for (std::atomic<int>& count : runs) count = 0;
      seen.clear();
      for (int round = 0; round < 20; ++round) {
        parallel_for(tasks, [&](dim_t task) {
          ++runs[static_cast<std::size_t>(task)];
          const std::lock_guard lock(g_mutex);
          seen.insert(std::this_thread::get_id());
        });
      }
    });
    for (const auto& count : runs) EXPECT_EQ(count, 20) << tasks << " tasks";
    seen.erase(std::this_thread::get_id());
    for (const std::thread::id id : seen) EXPECT_TRUE(g_threads.contains(id));
  }
}

TEST(HostTeam, SeveralOfItsThreadsWorkAtOnce) {
  const ThreadGuard guard(3);
  // Each task waits for the others: ends only if three threads run at once.
  with_team_for_sure(host, [] {
    std::atomic<int> arrived{0};
    parallel_for(3, [&](dim_t) {
      ++arrived;
      while (arrived < 3) std::this_thread::yield();
    });
  });
}

TEST(HostTeam, LeavesTheFloatingPointModeOfItsThreads) {
  const ThreadGuard guard(3);
  g_mode_was_kept = true;
  const int before = g_members;
  with_team_for_sure(host, [] { parallel_for(8, [](dim_t) {}); });
  EXPECT_EQ(g_members, before + 2);
  EXPECT_TRUE(g_mode_was_kept);
}

TEST(HostTeam, MayHaveTheCallerAlone) {
  const ThreadGuard guard(3);
  dim_t sum = 0;
  with_team_for_sure(lonely_host, [&] {
    sum = 0;
    parallel_for(10, [&](dim_t task) { sum += task; });
  });
  EXPECT_EQ(sum, 45);
}

TEST(HostTeam, HandsOnWhatTheBodyAndItsTasksThrow) {
  const ThreadGuard guard(3);
  EXPECT_THROW(with_team_for_sure(host, [] { throw std::runtime_error("body"); }),
               std::runtime_error);
  EXPECT_THROW(with_team_for_sure(
                   host, [] { parallel_for(4, [](dim_t) { throw std::logic_error("task"); }); }),
               std::logic_error);
  int runs = 0;
  with_host_team(host, 3, [&] { ++runs; });
  EXPECT_EQ(runs, 1);
}

TEST(HostTeam, IsNotAskedByOneThreadOrInsideATask) {
  const int before = g_calls;
  int runs = 0;
  with_host_team(host, 1, [&] { ++runs; });
  parallel_for(1, [&](dim_t) { with_host_team(host, 3, [&] { ++runs; }); });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(g_calls, before);
}

TEST(HostTeam, ThatCameLateIsLeftAloneForSomeCalls) {
  const ThreadGuard guard(3);
  g_late_ms = 20;
  with_team_for_sure(host, [] { parallel_for(2, [](dim_t) {}); });
  g_late_ms = 0;
  const int before = g_calls;
  int runs = 0;
  for (; runs < 64; ++runs) {
    dim_t sum = 0;
    with_host_team(host, 3, [&] { parallel_for(1, [&](dim_t task) { sum = task + 1; }); });
    EXPECT_EQ(sum, 1);
  }
  EXPECT_EQ(g_calls, before);
  with_host_team(host, 3, [] {});
  EXPECT_EQ(g_calls, before + 1);
}

TEST(HostTeam, SeveralCallersHaveTheirOwn) {
  const ThreadGuard guard(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        std::atomic<dim_t> sum{0};
        with_host_team(host, 3, [&] { parallel_for(100, [&](dim_t task) { sum += task; }); });
        if (sum != 4950) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace dsf
