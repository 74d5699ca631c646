#include "dsf/model/tensor_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "dsf/model/safetensors.h"

namespace dsf {
namespace {

TEST(TensorTypes, HalvesBecomeFloats) {
  const std::array<std::uint16_t, 7> halves = {0x0000, 0x3C00, 0xC000, 0x7BFF,
                                               0x0001, 0x7C00, 0x3555};
  std::array<float, 7> values{};
  to_float("F16", {reinterpret_cast<const char*>(halves.data()), sizeof halves}, values);
  EXPECT_THAT(values, ::testing::ElementsAre(0.0F, 1.0F, -2.0F, 65504.0F, 5.9604645e-8F, HUGE_VALF,
                                             0.33325195F));
}

TEST(TensorTypes, AFileOfDoublesOrHalvesIsRead) {
  const auto file = [](const std::string& dtype, const std::string& data) {
    const std::string header = R"({"w":{"dtype":")" + dtype +
                               R"(","shape":[2],"data_offsets":[0,)" + std::to_string(data.size()) +
                               "]}}";
    const std::uint64_t length = header.size();
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    return SafetensorsFile(bytes + header + data, "test");
  };
  const std::array<double, 2> doubles = {1.5, -0.25};
  std::array<float, 2> values{};
  const SafetensorsFile f64 =
      file("F64", {reinterpret_cast<const char*>(doubles.data()), sizeof doubles});
  f64.require("w", {2});
  f64.copy_to("w", values);
  EXPECT_THAT(values, ::testing::ElementsAre(1.5F, -0.25F));
  file("BF16", std::string("\xC0\x3F\x80\xBE", 4)).copy_to("w", values);
  EXPECT_THAT(values, ::testing::ElementsAre(1.5F, -0.25F));
}

}  // namespace
}  // namespace dsf
