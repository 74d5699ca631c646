#include "dsf/base/large_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace dsf {
namespace {

/// Whether the mapping that holds this address was advised: "hg" among its flags in /proc/self/smaps.
bool is_advised(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::size_t used = 0;
    const auto dash = line.find('-');
    if (dash != std::string::npos && dash < line.find(' ') && dash < line.find(':')) {
      const std::uintptr_t begin = std::stoull(line, &used, 16);
      inside = begin <= wanted && wanted < std::stoull(line.substr(dash + 1), nullptr, 16);
    }
    if (inside && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

class LargePages : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 4 * kLargePage;

  void SetUp() override {
    if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage/enabled")) {
      GTEST_SKIP() << "this kernel has no large pages to ask for";
    }
    memory_ = static_cast<char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory_, MAP_FAILED);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_);
    page_ = memory_ + (kLargePage - begin % kLargePage) % kLargePage;
  }
  void TearDown() override {
    if (memory_ != nullptr) munmap(memory_, kBytes);
  }

  char* memory_ = nullptr;
  char* page_ = nullptr;  // the first large page that lies whole inside of it
};

TEST_F(LargePages, AreAskedForInsideOfTheRangeOnly) {
  advise_large_pages(page_ - 1, 2 * kLargePage);
  EXPECT_TRUE(is_advised(page_));
  EXPECT_FALSE(is_advised(page_ + kLargePage))
      << "a page of which the last byte is not in the range";
}

TEST_F(LargePages, AreNotAskedForIfNoneFits) {
  advise_large_pages(page_ + 1, 2 * kLargePage - 2);
  EXPECT_FALSE(is_advised(page_));
  EXPECT_FALSE(is_advised(page_ + kLargePage));
}

TEST_F(LargePages, KeepTheContents) {
  page_[0] = 'a';
  page_[kLargePage - 1] = 'z';
  advise_large_pages(page_, kLargePage);
  EXPECT_EQ(page_[0], 'a');
  EXPECT_EQ(page_[kLargePage - 1], 'z');
}

}  // namespace
}  // namespace dsf
