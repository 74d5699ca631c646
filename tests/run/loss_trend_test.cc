#include "dsf/run/loss_trend.h"

#include <gtest/gtest.h>

#include "dsf/base/rng.h"

namespace dsf {
namespace {

// Losses that fall slowly and scatter, as those of batches do.
TEST(LossTrend, OrdinaryNoiseIsNoSpike) {
  Rng rng(3);
  LossTrend trend;
  int spikes = 0;
  for (int step = 0; step < 20000; ++step) {
    const double loss = 6.0 - 1e-4 * step + 0.2 * rng.normal();
    spikes += trend.is_spike(loss) ? 1 : 0;
    trend.add(loss);
  }
  // 20000 draws beyond 6 deviations of a normal number (1e-9 each); the deviation itself is
  // estimated over some 100 steps, which makes it some times more likely, not a million times.
  EXPECT_EQ(spikes, 0);
}

TEST(LossTrend, JumpIsASpike) {
  Rng rng(3);
  LossTrend trend;
  for (int step = 0; step < 200; ++step) trend.add(4.0 + 0.1 * rng.normal());
  EXPECT_FALSE(trend.is_spike(4.3));
  EXPECT_TRUE(trend.is_spike(5.0));
}

TEST(LossTrend, FirstStepsSayNothing) {
  LossTrend trend;
  for (int step = 0; step < 49; ++step) trend.add(1.0);
  EXPECT_FALSE(trend.is_spike(100.0));
  trend.add(1.0);
  EXPECT_TRUE(trend.is_spike(100.0));
  EXPECT_FALSE(trend.is_spike(1.05));  // no deviation at all, but hardly a difference
}

// While the rate is 1/n these are the plain mean and variance.
TEST(LossTrend, BeginsAsMeanAndVariance) {
  LossTrend trend;
  for (const double loss : {1.0, 2.0, 3.0, 6.0}) trend.add(loss);
  EXPECT_DOUBLE_EQ(trend.mean, 3.0);
  EXPECT_DOUBLE_EQ(trend.variance, 3.5);
}

}  // namespace
}  // namespace dsf
