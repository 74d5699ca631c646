// CPUID as oneDNN sees it on a machine whose hypervisor hides the sizes of AMX's tiles.

#include "lab/bench/tile_palette.h"

#include <cpuid.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX, sigaction

#include <array>

#include <gtest/gtest.h>

namespace dsf {
namespace {

using Answer = std::array<unsigned, 4>;

// Of a leaf that the CPU may not list.
Answer ask_cpu(unsigned leaf, unsigned subleaf) {
  Answer r{};
  __cpuid_count(leaf, subleaf, r[0], r[1], r[2], r[3]);
  return r;
}

constexpr unsigned kTiles = 0x1D;

constexpr bool kNeeded = true;

TEST(TilePalette, IsDescribedWhileShownOnly) {
  const Answer before = ask_cpu(kTiles, 0);
  Answer last;
  Answer sizes;
  {
    const ShownTilePalette palette(kNeeded);
    if (!palette.shown()) GTEST_SKIP() << "this system cannot trap CPUID";
    last = ask_cpu(kTiles, 0);
    sizes = ask_cpu(kTiles, 1);
  }
  EXPECT_EQ(last[0], 1U);
  EXPECT_EQ(sizes[0], 8192U | 1024U << 16U);
  EXPECT_EQ(sizes[1], 64U | 8U << 16U);
  EXPECT_EQ(sizes[2], 16U);
  EXPECT_EQ(ask_cpu(kTiles, 0), before);
}

TEST(TilePalette, LeavesEveryOtherAnswerToTheCpu) {
  for (const unsigned leaf : {0U, 7U, 0x80000002U}) {
    Answer seen;
    {
      const ShownTilePalette palette(kNeeded);
      seen = ask_cpu(leaf, 0);
    }
    EXPECT_EQ(seen, ask_cpu(leaf, 0)) << leaf;
  }
}

void host_handler(int /*signal*/) {}

TEST(TilePalette, GivesTheHostItsSignalHandlerBack) {
  signal(SIGSEGV, host_handler);
  { const ShownTilePalette palette(kNeeded); }
  struct sigaction after {};
  sigaction(SIGSEGV, nullptr, &after);
  signal(SIGSEGV, SIG_DFL);
  EXPECT_EQ(after.sa_handler, host_handler);
}

TEST(TilePaletteDeathTest, RealFaultsStayFaults) {
  const auto fault = [] {
    const ShownTilePalette palette(kNeeded);
    volatile int* nowhere = nullptr;
    *nowhere = 1;
  };
  EXPECT_DEATH(fault(), "");
}

}  // namespace
}  // namespace dsf
