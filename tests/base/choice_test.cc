#include "dsf/base/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dsf {

enum class Fruit { apple, pear };
template <>
struct ChoiceNames<Fruit> {
  static constexpr std::array<std::string_view, 2> kNames = {"apple", "pear"};
};

namespace {

TEST(Choice, NamesAndValuesGoBothWays) {
  EXPECT_EQ(name_of(Fruit::pear), "pear");
  EXPECT_EQ(choice_named<Fruit>("apple"), Fruit::apple);
  EXPECT_EQ(choice_named<Fruit>("pear"), Fruit::pear);
  EXPECT_THAT(choice_names<Fruit>(), ::testing::ElementsAre("apple", "pear"));
}

TEST(Choice, OtherNamesAreNoValue) {
  for (const char* name : {"", "Apple", "app", "pears"}) {
    EXPECT_EQ(choice_named<Fruit>(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace dsf
