#include "dsf/base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace dsf {
namespace {

constexpr auto kWellFormed = std::string_view::npos;

TEST(Utf8, EveryCodePointSurvivesTheRoundTrip) {
  for (char32_t value = 0; value < kCodePoints; ++value) {
    if (value >= 0xD800 && value < 0xE000) continue;
    std::string bytes;
    append_utf8(value, bytes);
    const CodePoint point = decode_utf8(bytes, 0);
    ASSERT_EQ(point.value, value);
    ASSERT_EQ(point.length, bytes.size());
    ASSERT_EQ(find_malformed_utf8(bytes), kWellFormed);
    ASSERT_EQ(count_code_points(bytes), 1);
  }
}

TEST(Utf8, SurrogatesAreMalformed) {
  for (char32_t value = 0xD800; value < 0xE000; ++value) {
    std::string bytes;
    append_utf8(value, bytes);
    ASSERT_EQ(decode_utf8(bytes, 0).value, kMalformed);
  }
}

TEST(Utf8, MalformedBytesAreFoundAtTheirOffset) {
  EXPECT_EQ(find_malformed_utf8("\x80"), 0U) << "a continuation by itself";
  EXPECT_EQ(find_malformed_utf8("ab\xC3"), 2U) << "cut off";
  EXPECT_EQ(find_malformed_utf8("ab\xC3(c"), 2U) << "no continuation follows";
  EXPECT_EQ(find_malformed_utf8("\xC0\xAF"), 0U) << "overlong slash";
  EXPECT_EQ(find_malformed_utf8("\xE0\x80\xAF"), 0U) << "overlong slash in three";
  EXPECT_EQ(find_malformed_utf8("\xF0\x80\x80\xAF"), 0U) << "overlong slash in four";
  EXPECT_EQ(find_malformed_utf8("\xF4\x90\x80\x80"), 0U) << "above U+10FFFF";
  EXPECT_EQ(find_malformed_utf8("\xFF"), 0U);
}

// The check skips ASCII eight bytes at a time: the fault must be found wherever it lies in the
// eight.
TEST(Utf8, FaultIsFoundAtEveryOffset) {
  for (std::size_t at = 0; at < 40; ++at) {
    std::string text(40, 'a');
    text[at] = '\xFE';
    EXPECT_EQ(find_malformed_utf8(text), at);
  }
}

TEST(Utf8, WellFormedTextPassesAtEveryAlignment) {
  for (std::size_t lead = 0; lead < 16; ++lead) {
    const std::string text = std::string(lead, 'x') + "naïve – 日本語 🎈 end";
    EXPECT_EQ(find_malformed_utf8(text), kWellFormed) << lead;
  }
}

TEST(Utf8, CountsCodePointsNotBytes) {
  EXPECT_EQ(count_code_points(""), 0);
  EXPECT_EQ(count_code_points("naïve"), 5);
  EXPECT_EQ(count_code_points("日本語"), 3);
}

TEST(Utf8, MalformedByteIsTakenAlone) {
  const CodePoint point = decode_utf8("\xE2\x82", 0);
  EXPECT_EQ(point.value, kMalformed);
  EXPECT_EQ(point.length, 1U);
}

}  // namespace
}  // namespace dsf
