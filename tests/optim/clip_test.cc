#include "dsf/optim/clip.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/random_matrix.h"
#include "tests/support/thread_guard.h"

namespace dsf {
namespace {

TEST(GlobalNorm, MatchesHandValues) {
  EXPECT_EQ(global_norm({}), 0.0);
  EXPECT_EQ(global_norm(std::vector<float>{-3.0F, 4.0F}), 5.0);
  // In float the square would overflow.
  EXPECT_DOUBLE_EQ(global_norm(std::vector<float>{1e30F}), static_cast<double>(1e30F));
}

TEST(GlobalNorm, CountsEveryElementOnce) {
  for (const std::size_t size : {1UL, 7UL, 9UL, 65535UL, 65536UL, 65537UL, 200003UL}) {
    // Ones: the sum of squares is the size, exactly.
    EXPECT_EQ(global_norm(std::vector<float>(size, 1.0F)), std::sqrt(static_cast<double>(size)));
  }
}

TEST(GlobalNorm, DoesNotDependOnTheNumberOfThreads) {
  const std::vector<float> gradient = testing::normal_vector(300000, 1);
  EXPECT_TRUE(testing::same_with_any_thread_count([&] { return global_norm(gradient); }));
}

TEST(GlobalNorm, ShowsNan) {
  std::vector<float> gradient(100, 1.0F);
  gradient[50] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(global_norm(gradient)));
}

TEST(ClipScale, BringsLongGradientsDownAndLeavesShortOnes) {
  EXPECT_DOUBLE_EQ(clip_scale(4.0, 1.0), 0.25);
  EXPECT_EQ(clip_scale(1.0, 1.0), 1.0);
  EXPECT_EQ(clip_scale(0.5, 1.0), 1.0);
  EXPECT_EQ(clip_scale(0.0, 1.0), 1.0);
}

TEST(ClipScale, ZeroOrLessMeansNoClipping) {
  EXPECT_EQ(clip_scale(1e9, 0.0), 1.0);
  EXPECT_EQ(clip_scale(1e9, -1.0), 1.0);
}

}  // namespace
}  // namespace dsf
