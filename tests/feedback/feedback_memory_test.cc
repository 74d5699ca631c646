// A feedback says what memory its run() takes.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "tests/feedback/feedback_problem.h"
#include "tests/support/every_feedback.h"
#include "tests/support/layouts.h"

namespace {

std::atomic<std::size_t> asked_for{0};

}  // namespace

// Buffers take their memory from here: this definition stands before the C library's.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  asked_for += size;
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

namespace dsf {
namespace {

// Bytes that `feedback` asks for in two batches, the first of which goes back exactly if it learns.
// Another one has gone before it, so that cell and kernels have theirs.
std::size_t taken_by(Feedback& feedback, Feedback& before, const PackedLayout& layout) {
  const Problem problem(layout);
  reference::FastCell cell(problem, feedback.jacobian_use());
  std::size_t taken = 0;
  for (Feedback* each : {&before, &feedback}) {
    taken = 0;
    for (int batch = 0; batch < 2; ++batch) {
      cell.back([&](BackwardPass& pass) {
        const std::size_t start = asked_for;
        each->run(pass);
        taken += asked_for - start;
      });
    }
  }
  return taken;
}

void expect_what_it_says(const std::string& method, const std::string& scan,
                         const PackedLayout& layout) {
  SCOPED_TRACE(method + " " + scan + " over " + std::to_string(layout.steps()) + " steps");
  FeedbackConfig config = config_of(method, scan);
  config.calibration = 1;
  const auto feedback = make_feedback(config, kState, 1, "layer");
  const auto before = make_feedback(config, kState, 1, "layer");
  const auto told = static_cast<std::size_t>(
      feedback->workspace_numbers({layout.total_rows(), kState, layout.steps(), layout.batch()}));
  const std::size_t taken = taken_by(*feedback, *before, layout);
  // Three buffers, each rounded up to a cache line, and the counters of the blocked scan.
  constexpr std::size_t kRoom = 4 * Buffer<float>::kAlignment;
  EXPECT_LE(taken, told * sizeof(float) + kRoom);
  EXPECT_EQ(taken > 0, told > 0);
}

TEST(FeedbackMemory, IsCounted) {
  const std::size_t start = asked_for;
  const Buffer<float> buffer(100);
  EXPECT_EQ(asked_for - start, 448U) << "400 bytes, in cache lines";
}

// Two rows are fewer than units: matrices [S, S] outweigh all others. Long sequences are cut in
// time, one of 300 steps by `auto` too.
TEST(FeedbackMemory, OfEveryMethodIsAtMostWhatItSays) {
  for (const std::string& method : testing::every_feedback()) {
    for (const char* scan : {"auto", "blocked", "fft"}) {
      for (const PackedLayout& layout : {kLayout, PackedLayout::uniform(2, 1), long_ragged_layout(),
                                         PackedLayout::uniform(300, 1)}) {
        expect_what_it_says(method, scan, layout);
      }
    }
  }
}

}  // namespace
}  // namespace dsf
