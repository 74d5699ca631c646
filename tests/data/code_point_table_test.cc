#include "dsf/data/code_point_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace dsf {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(CodePointTable, GivesWhatWasSetAndOtherwiseTheDefault) {
  CodePointTable<int> table(-1);
  EXPECT_EQ(table.get('a'), -1);
  table.at('a') = 1;
  table.at(0x10FFFF) = 2;
  EXPECT_EQ(table.get('a'), 1);
  EXPECT_EQ(table.get('b'), -1);     // on the page of 'a'
  EXPECT_EQ(table.get(0x4E00), -1);  // on a page between two used ones
  EXPECT_EQ(table.get(0x10FFFF), 2);
  EXPECT_EQ(table.get(kMalformed), -1);
}

TEST(CodePointTable, IsVisitedInAscendingOrder) {
  CodePointTable<int> table(0);
  for (const char32_t point : {U'\U0001F600', U'b', U'a', U'\u20AC'}) ++table.at(point);
  std::vector<std::pair<char32_t, int>> seen;
  table.for_each([&](char32_t point, int count) {
    if (count > 0) seen.emplace_back(point, count);
  });
  EXPECT_THAT(
      seen, ElementsAre(Pair(U'a', 1), Pair(U'b', 1), Pair(U'\u20AC', 1), Pair(U'\U0001F600', 1)));
}

}  // namespace
}  // namespace dsf
