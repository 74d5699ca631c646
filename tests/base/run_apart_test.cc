#include "dsf/base/run_apart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "dsf/base/error.h"
#include "dsf/base/interrupt.h"
#include "tests/support/message_of.h"

namespace dsf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(RunApart, GivesWhatTheWorkGave) {
  const std::string large(1'000'000, 'x');
  EXPECT_EQ(run_apart("work", [&] { return large; }), large);
  EXPECT_EQ(run_apart("work", [] { return std::string(); }), "");
}

TEST(RunApart, OutlivesWorkThatEndsItsProcess) {
  EXPECT_THAT(message_of<DataError>([] {
                run_apart("work", []() -> std::string {
                  std::fputs("some lines\nthe reason\n", stderr);
                  std::exit(-1);
                });
              }),
              AllOf(HasSubstr("work"), HasSubstr("(the reason)")));
  EXPECT_THAT(message_of<DataError>([] {
                run_apart("work", []() -> std::string {
                  std::signal(SIGSEGV, SIG_DFL);
                  std::raise(SIGSEGV);
                  return "";
                });
              }),
              HasSubstr("signal 11"));
  EXPECT_EQ(message_of<DataError>([] {
              run_apart("work", []() -> std::string { throw DataError("no such text"); });
            }),
            "no such text");
}

TEST(RunApart, EndsAtOnceWhenASignalAsksToStop) {
  const InterruptGuard guard;
  const auto begin = std::chrono::steady_clock::now();
  std::thread later([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(::getpid(), SIGTERM);
  });
  EXPECT_THROW(run_apart("work",
                         []() -> std::string {
                           ::sleep(20);
                           return "";
                         }),
               InterruptedError);
  later.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace dsf
