#include "dsf/kernels/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <xmmintrin.h>

#include "dsf/base/error.h"
#include "tests/support/thread_guard.h"

namespace dsf {
namespace {

using testing::ThreadGuard;

TEST(ParallelFor, RunsEveryTaskOnceForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadGuard guard(threads);
    for (const dim_t tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
      parallel_for(tasks, [&](dim_t task) { ++runs[static_cast<std::size_t>(task)]; });
      for (const auto& count : runs) EXPECT_EQ(count, 1) << threads << " threads";
    }
  }
}

TEST(ParallelFor, MakesWritesOfTasksVisibleToTheCaller) {
  const ThreadGuard guard(4);
  std::vector<dim_t> squares(257);
  for (int round = 0; round < 200; ++round) {
    parallel_ranges(257, 10, [&](dim_t begin, dim_t end) {
      for (dim_t i = begin; i < end; ++i) squares[static_cast<std::size_t>(i)] = i * i + round;
    });
    for (dim_t i = 0; i < 257; ++i) ASSERT_EQ(squares[static_cast<std::size_t>(i)], i * i + round);
  }
}

TEST(ParallelFor, UsesSeveralThreadsAndTheCallerTakesPart) {
  const ThreadGuard guard(2);
  // Each task waits for the other: ends only if two threads run at once.
  std::atomic<int> arrived{0};
  std::atomic<bool> caller_took_part{false};
  const auto caller = std::this_thread::get_id();
  parallel_for(2, [&](dim_t) {
    if (std::this_thread::get_id() == caller) caller_took_part = true;
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_TRUE(caller_took_part);
}

/// No thread can be started in its scope: no stack is as large as the address space.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_getattr_default_np(&usual_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 47U);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoMoreThreads() {
    pthread_setattr_default_np(&usual_);
    pthread_attr_destroy(&usual_);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  pthread_attr_t usual_{};
};

/// Whether two tasks run at the same time.
bool runs_side_by_side() {
  std::atomic<int> begun{0};
  std::atomic<bool> met{true};
  parallel_for(2, [&](dim_t) {
    ++begun;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (begun < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    if (begun < 2) met = false;
  });
  return met;
}

TEST(ParallelFor, GoesOnWithTheThreadsThereAre) {
  const ThreadGuard two(2);
  ASSERT_TRUE(runs_side_by_side());
  {
    const NoMoreThreads none;
    EXPECT_THROW(std::thread([] {}), std::system_error);
    const ThreadGuard more(4);
    std::atomic<int> runs{0};
    parallel_for(10, [&](dim_t) { ++runs; });
    EXPECT_EQ(runs, 10);
    EXPECT_TRUE(runs_side_by_side()) << "the one worker is still there";
  }
  EXPECT_TRUE(runs_side_by_side());
}

TEST(ParallelFor, WithOneThreadStaysOnTheCaller) {
  const ThreadGuard guard(1);
  const auto caller = std::this_thread::get_id();
  parallel_for(50, [&](dim_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(ParallelFor, NestedCallRunsInOrderOnTheThreadOfItsTask) {
  const ThreadGuard guard(3);
  EXPECT_FALSE(inside_parallel_task());
  parallel_for(6, [&](dim_t) {
    EXPECT_TRUE(inside_parallel_task());
    const auto here = std::this_thread::get_id();
    std::vector<dim_t> order;
    parallel_for(5, [&](dim_t task) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      order.push_back(task);
    });
    EXPECT_EQ(order, (std::vector<dim_t>{0, 1, 2, 3, 4}));
    EXPECT_TRUE(inside_parallel_task());
  });
  EXPECT_FALSE(inside_parallel_task());
}

TEST(ParallelFor, RethrowsTheFailureOfTheLowestTaskForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 5}) {
    const ThreadGuard guard(threads);
    for (int round = 0; round < 50; ++round) {
      try {
        parallel_for(100, [](dim_t task) {
          if (task >= 3) throw std::runtime_error(std::to_string(task));
        });
        FAIL() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "3");
      }
      EXPECT_FALSE(inside_parallel_task());
    }
  }
}

TEST(ParallelFor, WorksAfterAFailure) {
  const ThreadGuard guard(3);
  EXPECT_THROW(parallel_for(9, [](dim_t) { throw std::logic_error("no"); }), std::logic_error);
  std::atomic<int> runs{0};
  parallel_for(9, [&](dim_t) { ++runs; });
  EXPECT_EQ(runs, 9);
}

TEST(ParallelFor, ServesSeveralCallersAtOnce) {
  const ThreadGuard guard(3);
  std::vector<std::thread> callers;
  std::atomic<dim_t> sum{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) parallel_for(10, [&](dim_t task) { sum += task; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 100 * 45);
}

TEST(ParallelFor, WakesWorkersThatHaveGoneToSleep) {
  const ThreadGuard guard(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> arrived{0};
    parallel_for(2, [&](dim_t) {
      ++arrived;
      while (arrived < 2) std::this_thread::yield();
    });
    EXPECT_EQ(arrived, 2);
  }
}

TEST(ParallelFor, FlushesDenormalsOnEveryThread) {
  const ThreadGuard guard(4);
  volatile float tiny = std::numeric_limits<float>::min();
  parallel_for(64, [&](dim_t) {
    volatile float half = tiny * 0.5F;
    EXPECT_EQ(half, 0.0F);
  });
}

TEST(FlushedDenormals, PutTheModeBackForAHostProgram) {
  constexpr unsigned kModeAtStart = 0x1F80;  // of every program; a thread begins with its maker's
  std::thread([] {
    _mm_setcsr(kModeAtStart);
    volatile float tiny = std::numeric_limits<float>::min();
    const auto half = [&] {
      volatile float result = tiny * 0.5F;
      return result;
    };
    for (int call = 0; call < 2; ++call) {
      EXPECT_GT(half(), 0.0F);
      const FlushedDenormals flushed;
      EXPECT_EQ(half(), 0.0F);
      parallel_for(2, [](dim_t) {});
      EXPECT_EQ(half(), 0.0F);
    }
    EXPECT_GT(half(), 0.0F);
  }).join();
}

TEST(ParallelFor, WorksInAForkedChild) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow a fork of a process with threads";
#endif
  const ThreadGuard guard(3);
  parallel_for(8, [](dim_t) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int> runs{0};
    parallel_for(8, [&](dim_t) { ++runs; });
    _exit(runs == 8 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(ThreadCount, DefaultsToTheCpusOfTheAffinityMask) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  EXPECT_EQ(thread_count(), CPU_COUNT(&set));
}

TEST(ThreadCount, RefusesZero) {
  const int before = thread_count();
  EXPECT_THROW(set_thread_count(0), UsageError);
  EXPECT_EQ(thread_count(), before);
}

TEST(ParallelRanges, CoversItemsWithoutOverlap) {
  for (const dim_t items : {0, 1, 9, 10, 11, 100}) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(items));
    parallel_ranges(items, 10, [&](dim_t begin, dim_t end) {
      EXPECT_LT(begin, end);
      for (dim_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
    });
    for (const auto& count : seen) EXPECT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace dsf
