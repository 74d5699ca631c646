#include "dsf/dist/communicator.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "dsf/base/error.h"
#include "dsf/dist/launch.h"
#include "dsf/dist/single_process.h"
#include "tests/support/ranks.h"

namespace dsf {
namespace {

TEST(Communicator, PartsCoverAnArrayInOrderAndDifferByOneAtMost) {
  for (const dim_t size : {0, 1, 2, 7, 16, 1000}) {
    for (const int ranks : {1, 2, 3, 7, 16}) {
      dim_t end = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const FlatRange part = part_of(size, rank, ranks);
        EXPECT_EQ(part.begin, end);
        EXPECT_GE(part.size(), size / ranks);
        EXPECT_LE(part.size(), size / ranks + 1);
        end = part.end;
      }
      EXPECT_EQ(end, size);
    }
  }
}

TEST(Communicator, SingleProcessKeepsWhatItHas) {
  SingleProcess one;
  std::vector<float> values = {1.0F, -2.0F, 3.5F};
  one.wait(one.start_all_reduce(values));
  EXPECT_EQ(values, (std::vector<float>{1.0F, -2.0F, 3.5F}));
  std::vector<float> part(3);
  one.wait(one.start_reduce_scatter(std::span<const float>(values), part));
  EXPECT_EQ(part, values);
  EXPECT_EQ(one.size(), 1);
  EXPECT_TRUE(one.leads());
}

TEST(Communicator, ThreadsAreSharedAmongTheRanksOfAMachine) {
  EXPECT_EQ(threads_per_rank(64, 4, false), 16);
  EXPECT_EQ(threads_per_rank(2, 4, false), 1);
  EXPECT_EQ(threads_per_rank(16, 4, true), 16) << "mpirun gave each rank CPUs of its own";
}

// Element i of rank r's array: small whole numbers, whose sums are exact in any order.
float element(int rank, std::size_t i) { return static_cast<float>((rank + 1) * 3 + (i % 17)); }

std::vector<float> array_of(int rank, std::size_t size) {
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = element(rank, i);
  return values;
}

float sum_of_elements(int ranks, std::size_t i) {
  float sum = 0.0F;
  for (int rank = 0; rank < ranks; ++rank) sum += element(rank, i);
  return sum;
}

void check_sums(Communicator& ranks, std::size_t size) {
  std::vector<float> values = array_of(ranks.rank(), size);
  ranks.wait(ranks.start_all_reduce(values));
  for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(values[i], sum_of_elements(ranks.size(), i));
}

void check_reduce_scatter_and_gather(Communicator& ranks, std::size_t size) {
  const std::vector<float> values = array_of(ranks.rank(), size);
  const FlatRange own = part_of(static_cast<dim_t>(size), ranks.rank(), ranks.size());
  std::vector<float> part(static_cast<std::size_t>(own.size()));
  ranks.wait(ranks.start_reduce_scatter(std::span<const float>(values), part));
  for (std::size_t i = 0; i < part.size(); ++i) {
    ASSERT_EQ(part[i], sum_of_elements(ranks.size(), static_cast<std::size_t>(own.begin) + i));
  }
  std::vector<float> all(size);
  ranks.wait(ranks.start_all_gather(std::span<const float>(part), all));
  for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(all[i], sum_of_elements(ranks.size(), i));
}

void check_bf16(Communicator& ranks, std::size_t size) {
  std::vector<bf16_t> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = to_bf16(element(ranks.rank(), i));
  const FlatRange own = part_of(static_cast<dim_t>(size), ranks.rank(), ranks.size());
  std::vector<float> part(static_cast<std::size_t>(own.size()));
  ranks.wait(ranks.start_reduce_scatter(std::span<const bf16_t>(values), part));
  for (std::size_t i = 0; i < part.size(); ++i) {
    ASSERT_EQ(part[i], sum_of_elements(ranks.size(), static_cast<std::size_t>(own.begin) + i));
  }
}

TEST(Communicator, ThreeRanksSumExchangeAndWaitForEachOther) {
  DSF_NEEDS_RANKS();
  if (!inside_ranks(3)) return;
  const std::unique_ptr<Communicator> ranks = join_ranks();
  ASSERT_EQ(ranks->size(), 3);
  EXPECT_EQ(ranks->local_ranks(), 3);
  ranks->watch(60.0);
  // Fewer elements than ranks, no multiple of the ranks, more than one message.
  for (const std::size_t size : {1UL, 1000UL, 300001UL}) {
    check_sums(*ranks, size);
    check_reduce_scatter_and_gather(*ranks, size);
    check_bf16(*ranks, size);
  }
  std::array<double, 2> sums = {1.0, static_cast<double>(ranks->rank())};
  ranks->all_reduce(sums);
  EXPECT_EQ(sums[0], 3.0);
  EXPECT_EQ(sums[1], 3.0);
  std::array<int, 4> told = {ranks->rank(), 0, 0, 7 - ranks->rank()};
  ranks->broadcast(std::as_writable_bytes(std::span<int>(told)));
  EXPECT_EQ(told, (std::array<int, 4>{0, 0, 0, 7}));
  ranks->barrier();
}

TEST(Communicator, SomeOfTheRanksCanWorkAlone) {
  DSF_NEEDS_RANKS();
  if (!inside_ranks(3)) return;
  const std::unique_ptr<Communicator> ranks = join_ranks();
  const std::unique_ptr<Communicator> two = ranks->first_ranks(2);
  ASSERT_EQ(two != nullptr, ranks->rank() < 2);
  if (two) {
    EXPECT_EQ(two->size(), 2);
    check_sums(*two, 100);
  }
  ranks->barrier();
}

}  // namespace
}  // namespace dsf
