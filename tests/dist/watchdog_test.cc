#include "dsf/dist/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dsf {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

constexpr double kPatience = 3.0;
constexpr double kLook = 0.5;  // seconds between two looks

// Looks for `seconds`; the first verdict, if any.
std::optional<std::string> watch(Watchdog& dog, double seconds, const OwnProgress& own) {
  for (double t = 0.0; t < seconds; t += kLook) {
    if (auto verdict = dog.look(kLook, own)) return verdict;
  }
  return std::nullopt;
}

TEST(Watchdog, SilentRankIsNamedByTheNextOne) {
  Watchdog dog(0, 4, kPatience);
  dog.hear({1, 0});
  EXPECT_EQ(watch(dog, kPatience, {1, false}), std::nullopt);
  EXPECT_THAT(watch(dog, kLook, {1, false}), Optional(HasSubstr("rank 3 has given no sign")));
}

TEST(Watchdog, RankThatBeatsIsNotAccusedHoweverLongItComputes) {
  Watchdog dog(2, 4, kPatience);
  for (int i = 0; i < 100; ++i) {
    dog.hear({5, 0});
    EXPECT_EQ(dog.look(kLook, {5, false}), std::nullopt);
  }
}

TEST(Watchdog, RankThatOthersWaitForNamesItself) {
  Watchdog dog(2, 4, kPatience);
  std::optional<std::string> verdict;
  for (double t = 0.0; t <= kPatience && !verdict; t += kLook) {
    dog.hear({6, 0});
    verdict = dog.look(kLook, {5, false});
  }
  EXPECT_THAT(verdict, Optional(HasSubstr("rank 2 hangs: rank 1 has been waiting")));
}

TEST(Watchdog, RankThatComesInTimeIsNotLate) {
  Watchdog dog(2, 4, kPatience);
  for (std::int64_t operation = 1; operation < 20; ++operation) {
    dog.hear({operation, 0});
    // Late for most of the time allowed, each time.
    for (double t = 0.0; t < kPatience - kLook; t += kLook) {
      dog.hear({operation, 0});
      EXPECT_EQ(dog.look(kLook, {operation - 1, false}), std::nullopt);
    }
    EXPECT_EQ(dog.look(kLook, {operation, false}), std::nullopt);
  }
}

TEST(Watchdog, ExcusedRankMayBeLate) {
  Watchdog dog(2, 4, kPatience);
  for (int i = 0; i < 100; ++i) {
    dog.hear({6, 0});
    EXPECT_EQ(dog.look(kLook, {5, true}), std::nullopt);
  }
}

TEST(Watchdog, JobSuspendedAsAWholeAccusesNobody) {
  Watchdog dog(0, 2, kPatience);
  dog.hear({1, 0});
  constexpr double kNight = 8.0 * 3600.0;
  EXPECT_EQ(dog.look(kNight, {1, false}), std::nullopt);
}

}  // namespace
}  // namespace dsf
