#include "dsf/model/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::array<float, 6> kMatrix = {1, 2, 3, 4, 5, 6};
const std::array<float, 2> kVector = {-0.5F, 1e-30F};

std::string sample() {
  const TempDirectory directory;
  const std::vector<TensorToWrite> tensors = {{"matrix", {2, 3}, kMatrix},
                                              {"vector", {2}, kVector}};
  FileWriter writer(directory / "x");
  write_safetensors(tensors, {{"made", "here"}}, writer);
  writer.finish();
  return slurp(directory / "x");
}

// A file with this header and this many bytes of data.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header + std::string(data_bytes, '\0');
}

TEST(Safetensors, RoundTripKeepsNamesShapesBitsAndMetadata) {
  const SafetensorsFile file(sample(), "x");
  EXPECT_EQ(file.tensors().size(), 2U);
  EXPECT_EQ(file.metadata().at("made"), "here");
  EXPECT_NO_THROW(file.require("matrix", {2, 3}));
  std::array<float, 6> matrix{};
  std::array<float, 2> vector{};
  file.copy_to("matrix", matrix);
  file.copy_to("vector", vector);
  EXPECT_EQ(std::memcmp(matrix.data(), kMatrix.data(), sizeof(matrix)), 0);
  EXPECT_EQ(std::memcmp(vector.data(), kVector.data(), sizeof(vector)), 0);
}

TEST(Safetensors, LayoutIsThePublicOne) {
  const std::string bytes = sample();
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0U);
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  EXPECT_EQ(header["matrix"]["dtype"], "F32");
  EXPECT_THAT(header["matrix"]["shape"], ElementsAre(2, 3));
  EXPECT_THAT(header["matrix"]["data_offsets"], ElementsAre(0, 24));
  EXPECT_THAT(header["vector"]["data_offsets"], ElementsAre(24, 32));
  EXPECT_EQ(bytes.size(), 8 + length + 32);
}

TEST(Safetensors, OtherShapeOrNameIsRefused) {
  const SafetensorsFile file(sample(), "x");
  EXPECT_THROW(file.require("matrix", {3, 2}), CheckpointError);
  EXPECT_THROW(file.require("other", {2}), CheckpointError);
  std::array<float, 3> too_long{};
  EXPECT_THROW(file.copy_to("vector", too_long), CheckpointError);
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string bytes = sample();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(SafetensorsFile(bytes.substr(0, size), "x"), CheckpointError) << size;
  }
  EXPECT_THROW(SafetensorsFile(bytes + '\0', "x"), CheckpointError);
}

struct Bad {
  const char* header;
  std::size_t data_bytes;
  const char* complaint;
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.complaint; }

class BadSafetensors : public ::testing::TestWithParam<Bad> {};

TEST_P(BadSafetensors, IsRefusedWithItsFault) {
  try {
    SafetensorsFile(file_of(GetParam().header, GetParam().data_bytes), "the file");
    FAIL() << "no error";
  } catch (const CheckpointError& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().complaint));
    EXPECT_THAT(error.what(), HasSubstr("the file"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Safetensors, BadSafetensors,
    ::testing::Values(
        Bad{R"([1])", 0, "not a JSON object"}, Bad{R"({"a":)", 0, "damaged header"},
        Bad{R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
            R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
            4, "comes twice"},
        Bad{R"({"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", 4,
            "comes twice"},
        Bad{R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4, "unknown dtype"},
        Bad{R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "list of sizes"},
        Bad{R"({"a":{"dtype":"F32","shape":[1]}})", 4, "exactly dtype"},
        Bad{R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4, "exactly dtype"},
        Bad{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "do not span"},
        Bad{R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "do not span"},
        // 2^32 * 2^32 numbers: their bytes wrap round to 0.
        Bad{R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
            "overflows"},
        Bad{R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "leave a hole"},
        Bad{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
            R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
            12, "overlap"},
        Bad{R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8, "the file has 8"},
        Bad{R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})", 8, "the file has 8"}));

TEST(Safetensors, HeaderLengthBeyondTheFileIsRefused) {
  std::string bytes = sample();
  const std::uint64_t huge = ~std::uint64_t{0};
  std::memcpy(bytes.data(), &huge, 8);
  EXPECT_THROW(SafetensorsFile(bytes, "x"), CheckpointError);
}

}  // namespace
}  // namespace dsf
