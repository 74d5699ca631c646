// Signals that arrive in the middle of a product: the handler must run on the thread's own stack.
// oneDNN's kernels for f32 may move the stack pointer to the heap, where a handler's frame
// overwrites the memory of others.

#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX, sigaction
#include <sys/time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "dsf/kernels/gemm.h"
#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

std::atomic<long> signals_seen{0};
std::atomic<long> frames_off_the_stack{0};

struct Stack {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};
Stack main_stack;
pthread_t main_thread;

Stack stack_of_this_thread() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  std::size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  return {first, first + size};
}

// A worker of the pool that has nothing to do may get the signal instead: it is on its own stack.
extern "C" void look_at_the_frame(int /*signal*/) {
  if (pthread_equal(pthread_self(), main_thread) == 0) return;
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  ++signals_seen;
  if (frame < main_stack.begin || frame >= main_stack.end) ++frames_off_the_stack;
}

// Sends SIGALRM to the process all the time.
class Alarms {
 public:
  Alarms() {
    struct sigaction action = {};
    action.sa_handler = look_at_the_frame;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, &before_);
    constexpr itimerval kEvery = {.it_interval = {0, 200}, .it_value = {0, 200}};
    setitimer(ITIMER_REAL, &kEvery, nullptr);
  }
  ~Alarms() {
    constexpr itimerval kNever = {};
    setitimer(ITIMER_REAL, &kNever, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

 private:
  struct sigaction before_ = {};
};

TEST(GemmSignals, HandlersRunOnTheStackOfTheThread) {
  constexpr dim_t kRows = 96;
  constexpr dim_t kDepth = 1024;
  constexpr dim_t kCols = 256;
  constexpr long kEnough = 400;
  const std::vector<float> a(kRows * kDepth, 1.0F);
  const std::vector<float> b(kDepth * kCols, 0.5F);
  std::vector<float> c(kRows * kCols);
  const int threads = thread_count();
  set_thread_count(1);
  main_stack = stack_of_this_thread();
  main_thread = pthread_self();
  signals_seen = 0;
  frames_off_the_stack = 0;
  {
    const Alarms alarms;
    while (signals_seen < kEnough && frames_off_the_stack == 0) {
      gemm(Op::none, ConstMatrixF(a.data(), kRows, kDepth), Op::none,
           ConstMatrixF(b.data(), kDepth, kCols), Into::overwrite, MatrixF(c.data(), kRows, kCols));
    }
  }
  set_thread_count(threads);
  EXPECT_EQ(frames_off_the_stack, 0) << "of " << signals_seen << " signals";
  EXPECT_EQ(c.front(), 512.0F);
  EXPECT_EQ(c.back(), 512.0F);
}

}  // namespace
}  // namespace dsf
