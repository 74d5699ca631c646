#include "dsf/base/cpu_info.h"

#include <gtest/gtest.h>

namespace dsf {
namespace {

TEST(CpuInfo, HasTheFeaturesItLists) {
  const std::vector<std::string> features = cpu_features();
  EXPECT_FALSE(features.empty());  // the tests themselves need AVX2
  for (const std::string& feature : features) EXPECT_TRUE(cpu_has(feature)) << feature;
  EXPECT_FALSE(cpu_has("avx3"));
  EXPECT_FALSE(cpu_has(""));
}

}  // namespace
}  // namespace dsf
