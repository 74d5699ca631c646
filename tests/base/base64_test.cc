#include "dsf/base/base64.h"

#include <gtest/gtest.h>

namespace dsf {
namespace {

// The test vectors of RFC 4648, section 10.
TEST(Base64, WritesWhatTheStandardSays) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, EveryByteComesBack) {
  std::string bytes;
  for (int i = 0; i < 256 * 3 + 2; ++i) bytes += static_cast<char>(i * 7);
  for (std::size_t size = 0; size < 5; ++size) {
    EXPECT_EQ(from_base64(to_base64(bytes.substr(size))), bytes.substr(size));
  }
}

TEST(Base64, AnythingElseIsRefused) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9", "Zm9v\n", "Zm 9v", "=Zg=", "-_-_", "Zg==Zg=="}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace dsf
