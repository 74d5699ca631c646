// Event files, read back by a reader of their own: bitwise checksums and a general parser of
// protobuf's wire format, written from the formats' definitions.

#include "dsf/run/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>

#include "tests/support/temp_directory.h"
#include "tests/train/small_run.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

// --- the reader ---

std::uint32_t slow_crc32c(const std::string& bytes) {
  std::uint32_t remainder = 0xFFFFFFFF;
  for (const char character : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const std::uint32_t in = (static_cast<unsigned char>(character) >> bit) & 1U;
      const bool subtract = ((remainder & 1U) ^ in) != 0;
      remainder >>= 1;
      if (subtract) remainder ^= 0x82F63B78;
    }
  }
  return remainder ^ 0xFFFFFFFF;
}

template <typename T>
T number_at(const std::string& bytes, std::size_t at) {
  if (at + sizeof(T) > bytes.size()) throw std::runtime_error("the file ends inside a number");
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

void check_masked(std::uint32_t stored, const std::string& bytes) {
  const std::uint32_t unmasked = stored - 0xA282EAD8;
  const std::uint32_t crc = (unmasked >> 17) | (unmasked << 15);
  if (crc != slow_crc32c(bytes)) throw std::runtime_error("a checksum is wrong");
}

std::vector<std::string> records_of(const std::string& file) {
  std::vector<std::string> records;
  for (std::size_t at = 0; at < file.size();) {
    check_masked(number_at<std::uint32_t>(file, at + 8), file.substr(at, 8));
    const auto length = number_at<std::uint64_t>(file, at);
    const std::string data = file.substr(at + 12, length);
    if (data.size() != length) throw std::runtime_error("the file ends inside a record");
    check_masked(number_at<std::uint32_t>(file, at + 12 + length), data);
    records.push_back(data);
    at += 16 + length;
  }
  return records;
}

// Field number -> raw values; a varint as its eight bytes.
using Message = std::multimap<int, std::string>;

std::uint64_t read_varint(const std::string& bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(at++));
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  throw std::runtime_error("a varint is too long");
}

Message parse(const std::string& bytes) {
  Message message;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t key = read_varint(bytes, at);
    std::string value;
    switch (key & 7) {
      case 0: {
        const std::uint64_t number = read_varint(bytes, at);
        value.assign(reinterpret_cast<const char*>(&number), 8);
        break;
      }
      case 1:
        value = bytes.substr(at, 8);
        at += 8;
        break;
      case 2: {
        const std::uint64_t length = read_varint(bytes, at);
        value = bytes.substr(at, length);
        at += length;
        break;
      }
      case 5:
        value = bytes.substr(at, 4);
        at += 4;
        break;
      default:
        throw std::runtime_error("unknown wire type");
    }
    if (at > bytes.size()) throw std::runtime_error("a message ends inside a field");
    message.emplace(static_cast<int>(key >> 3), value);
  }
  return message;
}

const std::string& only(const Message& message, int field) {
  if (message.count(field) != 1) throw std::runtime_error("field is not there once");
  return message.find(field)->second;
}

struct ReadEvent {
  double wall_time = 0.0;
  std::int64_t step = 0;
  std::string file_version;
  bool session_start = false;
  std::map<std::string, float> scalars;
};

std::vector<ReadEvent> read_events(const fs::path& path) {
  std::vector<ReadEvent> events;
  for (const std::string& record : records_of(slurp(path))) {
    const Message message = parse(record);
    ReadEvent event;
    event.wall_time = number_at<double>(only(message, 1), 0);
    event.step = number_at<std::int64_t>(only(message, 2), 0);
    if (message.contains(3)) event.file_version = only(message, 3);
    if (message.contains(7)) {
      event.session_start = number_at<std::int64_t>(only(parse(only(message, 7)), 1), 0) == 1;
    }
    if (message.contains(5)) {
      const Message summary = parse(only(message, 5));
      for (auto [at, end] = summary.equal_range(1); at != end; ++at) {
        const Message value = parse(at->second);
        event.scalars[only(value, 1)] = number_at<float>(only(value, 2), 0);
      }
    }
    events.push_back(event);
  }
  return events;
}

// What TensorBoard shows of a directory: a session that starts at a step takes back later ones.
std::map<std::string, std::map<std::int64_t, float>> shown(const fs::path& directory) {
  std::vector<fs::path> files(fs::directory_iterator(directory), fs::directory_iterator{});
  std::sort(files.begin(), files.end());
  std::map<std::string, std::map<std::int64_t, float>> curves;
  for (const fs::path& file : files) {
    for (const ReadEvent& event : read_events(file)) {
      for (auto& [tag, curve] : curves) {
        if (event.session_start) curve.erase(curve.lower_bound(event.step), curve.end());
      }
      for (const auto& [tag, value] : event.scalars) curves[tag][event.step] = value;
    }
  }
  return curves;
}

// --- the tests ---

TEST(Crc32c, AgreesWithTheCatalogueAndABitwiseOne) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);            // the check value of CRC-32/ISCSI
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);  // RFC 3720, B.4
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>(i * 7);
  EXPECT_EQ(crc32c(bytes), slow_crc32c(bytes));
}

TEST(EventFile, IsReadBackByAnotherReader) {
  const TempDirectory directory;
  {
    EventFile file(directory / "events", 0);
    file.write(3, std::vector<Scalar>{{"a", 1.5}, {"b/c", -2.0}});
    file.write(300, std::vector<Scalar>{{"a", 0.25}});  // a varint of two bytes
  }
  const fs::path path = fs::directory_iterator(directory / "events")->path();
  EXPECT_THAT(path.filename().string(), ::testing::StartsWith("events.out.tfevents."));
  const std::vector<ReadEvent> events = read_events(path);
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].file_version, "brain.Event:2");
  EXPECT_TRUE(events[1].session_start);
  EXPECT_EQ(events[2].step, 3);
  EXPECT_EQ(events[2].scalars, (std::map<std::string, float>{{"a", 1.5F}, {"b/c", -2.0F}}));
  EXPECT_EQ(events[3].step, 300);
  constexpr double kYear2020 = 1.5778e9;
  EXPECT_GT(events[3].wall_time, kYear2020);
}

TEST(EventFile, DamageIsSeenByTheReader) {
  const TempDirectory directory;
  { EventFile(directory / "events", 0).write(1, std::vector<Scalar>{{"a", 1.0}}); }
  const fs::path path = fs::directory_iterator(directory / "events")->path();
  const std::string whole = slurp(path);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_THROW(records_of(damaged), std::runtime_error) << "byte " << i;
  }
}

class EventFilesOfARun : public ::testing::Test {
 protected:
  std::vector<Assignment> settings(const std::string& wanted) const {
    return small_settings(corpus_, {"train.steps=20", "train.tensorboard=" + wanted});
  }
  TempDirectory directory_;
  fs::path corpus_ = directory_.write("text.txt", small_text(150));
};

TEST_F(EventFilesOfARun, SayWhatTheLogSays) {
  small_run(directory_ / "run", settings("true"));
  auto curves = shown(directory_ / "run/tensorboard");
  std::size_t points = 0;
  std::istringstream lines(slurp(directory_ / "run/log.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    const bool training = json["event"] == "train";
    if (!training && json["event"] != "eval") continue;
    const std::vector<const char*> keys = training
                                              ? std::vector{"loss", "perplexity", "learning_rate",
                                                            "gradient_norm", "tokens_per_second"}
                                              : std::vector{"loss", "perplexity", "accuracy"};
    for (const char* key : keys) {
      const std::string tag = std::string(training ? "train/" : "valid/") + key;
      EXPECT_EQ(curves[tag].at(json["step"]), json[key].get<float>()) << tag;
      points += 1;
    }
  }
  std::size_t shown_points = 0;
  for (const auto& [tag, curve] : curves) shown_points += curve.size();
  EXPECT_EQ(shown_points, points);
  EXPECT_GT(points, 30U);
}

TEST_F(EventFilesOfARun, AreAfterAResumeWhatTheyWouldHaveBeen) {
  small_run(directory_ / "whole", settings("true"));
  small_run(directory_ / "cut", settings("true"), false, 10);
  // As if the process had been killed: the checkpoint of step 8 is the newest that is left.
  fs::remove_all(directory_ / "cut/checkpoints/step-00000010");
  small_run(directory_ / "cut", {}, true);
  auto whole = shown(directory_ / "whole/tensorboard");
  auto cut = shown(directory_ / "cut/tensorboard");
  for (const char* tag : {"train/loss", "train/gradient_norm", "valid/perplexity"}) {
    EXPECT_EQ(cut[tag], whole[tag]) << tag;
    EXPECT_GT(cut[tag].size(), 2U) << tag;
  }
}

TEST_F(EventFilesOfARun, AreWrittenOnlyWhereTheyAreWanted) {
  small_run(directory_ / "run", settings("false"));
  EXPECT_FALSE(fs::exists(directory_ / "run/tensorboard"));
}

}  // namespace
}  // namespace dsf
