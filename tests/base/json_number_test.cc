#include "dsf/base/json_number.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dsf {
namespace {

TEST(CountAt, TakesWholeNumbersFromZeroOn) {
  const auto object = nlohmann::json::parse(R"({"none": 0, "most": 9223372036854775807})");
  EXPECT_EQ(count_at(object, "none"), 0);
  EXPECT_EQ(count_at(object, "most"), std::numeric_limits<dim_t>::max());
}

TEST(CountAt, RefusesAllElse) {
  for (const char* value : {"-1", "1.5", "1e300", "9223372036854775808", "\"1\"", "null", "[1]"}) {
    const auto object = nlohmann::json::parse(std::string(R"({"n": )") + value + "}");
    EXPECT_THROW(count_at(object, "n"), Error) << value;
  }
}

}  // namespace
}  // namespace dsf
