#include "dsf/base/dim.h"

#include <gtest/gtest.h>

namespace dsf {
namespace {

TEST(Dim, DividesRoundingUp) {
  EXPECT_EQ(ceil_div(0, 4), 0);
  EXPECT_EQ(ceil_div(1, 4), 1);
  EXPECT_EQ(ceil_div(4, 4), 1);
  EXPECT_EQ(ceil_div(5, 4), 2);
  EXPECT_EQ(ceil_div(-3, 4), 0);
}

TEST(Dim, RoundsUpToAMultiple) {
  EXPECT_EQ(round_up(0, 16), 0);
  EXPECT_EQ(round_up(1, 16), 16);
  EXPECT_EQ(round_up(16, 16), 16);
  EXPECT_EQ(round_up(17, 16), 32);
}

}  // namespace
}  // namespace dsf
