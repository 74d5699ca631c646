#include "dsf/dist/operation_queue.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace dsf {
namespace {

using std::chrono::milliseconds;

TEST(OperationQueue, RunsInOrderBesideTheCaller) {
  std::vector<int> order;
  const std::thread::id caller = std::this_thread::get_id();
  bool beside = true;
  OperationQueue queue([] {}, milliseconds(1));
  std::int64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    last = queue.submit([&, i] {
      order.push_back(i);
      beside = beside && std::this_thread::get_id() != caller;
    });
  }
  EXPECT_EQ(last, 1000);
  queue.wait(last);
  ASSERT_EQ(order.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_TRUE(beside);
  EXPECT_EQ(queue.begun(), 1000);
}

TEST(OperationQueue, WaitRethrowsWhatAnOperationThrew) {
  OperationQueue queue([] {}, milliseconds(1));
  const std::int64_t number = queue.submit([] { throw std::runtime_error("broken"); });
  EXPECT_THROW(queue.wait(number), std::runtime_error);
}

TEST(OperationQueue, LooksAroundWhileThereIsNothingToDo) {
  std::atomic<int> looks{0};
  OperationQueue queue([&] { looks += 1; }, milliseconds(1));
  for (int i = 0; i < 5000 && looks < 3; ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_GE(looks, 3);
}

TEST(OperationQueue, EndsWhatItWasGivenBeforeItGoes) {
  int done = 0;
  {
    OperationQueue queue([] {}, milliseconds(1));
    for (int i = 0; i < 100; ++i) queue.submit([&] { done += 1; });
  }
  EXPECT_EQ(done, 100);
}

}  // namespace
}  // namespace dsf
