#include "dsf/base/foreign_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dsf/base/error.h"
#include "tests/support/deep_json.h"
#include "tests/support/message_of.h"

namespace dsf {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(ForeignJson, IsParsedAsAnyOther) {
  const std::string text = R"({"a":[1,2.5,{"b":null}],"c":"d"})";
  EXPECT_EQ(parse_foreign_json(text), json::parse(text));
  EXPECT_EQ(parse_foreign_json(deep_json(30)).dump(), deep_json(30));
}

TEST(ForeignJson, NestedTooDeeplyIsRefused) {
  for (const std::string& text :
       {bottomless_json(), R"({"a":)" + bottomless_json() + "}", std::string(300'000, '[')}) {
    EXPECT_THAT(message_of<DataError>([&] { parse_foreign_json(text); }), HasSubstr("nested"));
  }
}

TEST(ForeignJson, MalformedTextIsTheParsersToRefuse) {
  for (const char* text : {"", "{", "[1,]", R"({"a":1}})", "\xFF"}) {
    EXPECT_THROW(parse_foreign_json(text), json::exception) << text;
  }
}

}  // namespace
}  // namespace dsf
