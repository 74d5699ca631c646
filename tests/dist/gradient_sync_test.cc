#include "dsf/train/gradient_sync.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "dsf/base/rng.h"
#include "dsf/dist/launch.h"
#include "dsf/dist/single_process.h"
#include "dsf/optim/clip.h"
#include "tests/support/ranks.h"

namespace dsf {
namespace {

constexpr dim_t kFlat = 1000;
constexpr dim_t kBucket = 96;  // divides neither the flat buffer nor into three parts

std::vector<float> random_values(std::uint64_t seed, double scale = 1.0) {
  Rng rng(seed);
  std::vector<float> values(kFlat);
  for (float& value : values) value = static_cast<float>(scale * rng.normal());
  return values;
}

void exchange(GradientSync& sync, std::vector<float>& gradients) {
  for (const dim_t first : {900, 700, 650, 100, 0}) sync.ready(gradients, first);
  sync.finish();
}

TEST(GradientSync, BucketsCoverTheGradientFromItsEnd) {
  dim_t end = kFlat;
  for (const FlatRange bucket : cut_buckets(kFlat, kBucket)) {
    EXPECT_EQ(bucket.end, end);
    EXPECT_LE(bucket.size(), kBucket);
    end = bucket.begin;
  }
  EXPECT_EQ(end, 0);
}

TEST(GradientSync, OneRankUpdatesAsAdamAlone) {
  GradientSync sync(single_process(), kFlat, {.shard_optimizer = true, .compress = true});
  std::vector<float> gradients = random_values(1);
  const std::vector<float> before = gradients;
  exchange(sync, gradients);
  EXPECT_EQ(gradients, before);
  EXPECT_EQ(sync.norm(gradients), global_norm(before));
  std::vector<float> ours = random_values(2);
  std::vector<float> theirs = ours;
  AdamState our_state;
  AdamState their_state;
  sync.update({}, 0.1, 0.5, gradients, our_state, ours);
  adam_update({}, 0.1, 0.5, before, their_state, theirs);
  EXPECT_EQ(ours, theirs);
}

// On every rank: the sum of all ranks' gradients, in the order of the ranks.
std::vector<float> expected_sum(int ranks, std::uint64_t step) {
  std::vector<float> sum(kFlat, 0.0F);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> theirs = random_values(step * 10 + static_cast<std::uint64_t>(rank));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += theirs[i];
  }
  return sum;
}

TEST(GradientSync, ShardedUpdateOfThreeRanksIsTheWholeUpdate) {
  DSF_NEEDS_RANKS();
  if (!inside_ranks(3)) return;
  const std::unique_ptr<Communicator> ranks = join_ranks();
  GradientSync sync(*ranks, kFlat, {.shard_optimizer = true, .bucket = kBucket});
  std::vector<float> ours = random_values(99);
  std::vector<float> theirs = ours;
  AdamState shard;
  AdamState whole;
  for (std::uint64_t step = 1; step <= 3; ++step) {
    std::vector<float> gradients =
        random_values(step * 10 + static_cast<std::uint64_t>(ranks->rank()));
    exchange(sync, gradients);
    const std::vector<float> sum = expected_sum(3, step);
    EXPECT_NEAR(sync.norm(gradients), global_norm(sum), 1e-9 * global_norm(sum));
    sync.update({}, 0.01, 1.0, gradients, shard, ours);
    adam_update({}, 0.01, 1.0, sum, whole, theirs);
  }
  // The parts were summed in the order of the ranks, as here: the same bits.
  EXPECT_EQ(ours, theirs);
  EXPECT_LT(shard.m.size(), kFlat / 2);
  AdamState gathered = sync.gather_moments(shard);
  if (ranks->leads()) {
    ASSERT_EQ(gathered.m.size(), kFlat);
    EXPECT_TRUE(std::equal(whole.m.span().begin(), whole.m.span().end(), gathered.m.data()));
    EXPECT_TRUE(std::equal(whole.v.span().begin(), whole.v.span().end(), gathered.v.data()));
  }
  const AdamState cut = sync.own_moments(std::move(whole));
  EXPECT_TRUE(std::equal(shard.m.span().begin(), shard.m.span().end(), cut.m.data()));
}

TEST(GradientSync, BucketsOnTheirWayDuringTheBackwardPassSumAllRanks) {
  DSF_NEEDS_RANKS();
  if (!inside_ranks(3)) return;
  const std::unique_ptr<Communicator> ranks = join_ranks();
  for (const bool overlap : {true, false}) {
    GradientSync sync(*ranks, kFlat, {.overlap = overlap, .bucket = kBucket});
    std::vector<float> gradients = random_values(10 + static_cast<std::uint64_t>(ranks->rank()));
    exchange(sync, gradients);
    EXPECT_EQ(gradients, expected_sum(3, 1)) << "summed in the order of the ranks: the same bits";
  }
}

// What rounding takes off one step comes with the next: over many steps with the same gradient the
// received sums add up to the true ones, up to the last rest of each rank and that of the sum, each
// at most 2^-8 of its number (bf16 has 8 significant bits). Without feedback the error would grow
// with the number of steps.
TEST(GradientSync, ErrorFeedbackLosesNothing) {
  DSF_NEEDS_RANKS();
  if (!inside_ranks(3)) return;
  const std::unique_ptr<Communicator> ranks = join_ranks();
  GradientSync sync(*ranks, kFlat, {.compress = true, .bucket = 4 * kBucket});
  constexpr int kSteps = 24;
  std::vector<double> received(kFlat, 0.0);
  for (int step = 0; step < kSteps; ++step) {
    std::vector<float> gradients = random_values(10 + static_cast<std::uint64_t>(ranks->rank()));
    exchange(sync, gradients);
    for (std::size_t i = 0; i < received.size(); ++i) {
      received[i] += static_cast<double>(gradients[i]);
    }
  }
  const std::vector<float> sum = expected_sum(3, 1);
  std::vector<double> sizes(kFlat, 0.0);  // |g| of all ranks together
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    const std::vector<float> theirs = random_values(10 + rank);
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] += std::abs(theirs[i]);
  }
  for (std::size_t i = 0; i < received.size(); ++i) {
    // Twice: the ranks' rests and the sum's; 5 % more for the rests inside what is rounded.
    ASSERT_NEAR(received[i], kSteps * static_cast<double>(sum[i]),
                1.05 * 2.0 * std::ldexp(sizes[i], -8))
        << i;
  }
}

TEST(GradientSync, NotANumberArrivesOnAllRanksAndIsForgotten) {
  DSF_NEEDS_RANKS();
  if (!inside_ranks(2)) return;
  const std::unique_ptr<Communicator> ranks = join_ranks();
  GradientSync sync(*ranks, kFlat, {.compress = true, .bucket = kBucket});
  std::vector<float> gradients = random_values(1);
  if (ranks->leads()) gradients[5] = std::numeric_limits<float>::quiet_NaN();
  exchange(sync, gradients);
  EXPECT_TRUE(std::isnan(gradients[5]));
  EXPECT_TRUE(std::isnan(sync.norm(gradients)));
  gradients = random_values(1);
  exchange(sync, gradients);
  EXPECT_TRUE(std::isfinite(sync.norm(gradients)));
}

}  // namespace
}  // namespace dsf
