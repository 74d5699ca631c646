#include "dsf/base/nearest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace dsf {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("hidden", "hidden"), 0);
  EXPECT_EQ(edit_distance("hiden", "hidden"), 1);
  EXPECT_EQ(edit_distance("hiddenn", "hidden"), 1);
  EXPECT_EQ(edit_distance("hodden", "hidden"), 1);
  EXPECT_EQ(edit_distance("ihdden", "hidden"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(NearestName, FindsTheSlipAndNotTheStranger) {
  const std::vector<std::string> known = {"hidden", "layers", "mixer", "lr"};
  EXPECT_EQ(nearest_name("hiden", known), "hidden");
  EXPECT_EQ(nearest_name("layer", known), "layers");
  EXPECT_EQ(nearest_name("l", known), "lr");
  EXPECT_EQ(nearest_name("zz", known), "");
  EXPECT_EQ(nearest_name("temperature", known), "");
  EXPECT_EQ(did_you_mean("mixxer", known), "; did you mean \"mixer\"?");
  EXPECT_EQ(did_you_mean("temperature", known), "");
}

}  // namespace
}  // namespace dsf
