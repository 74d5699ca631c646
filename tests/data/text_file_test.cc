#include "dsf/data/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "dsf/base/error.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

using ::testing::HasSubstr;

void write_gzip(const std::string& file, const std::string& text) {
  gzFile out = gzopen(file.c_str(), "wb");
  ASSERT_NE(out, nullptr);
  ASSERT_EQ(gzwrite(out, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  ASSERT_EQ(gzclose(out), Z_OK);
}

// Does not repeat, so that gzip cannot make it tiny.
std::string long_text() {
  std::string text;
  for (std::int64_t i = 0; i < 400'000; ++i) text += std::to_string(i * 7919 % 100'003) + '\n';
  return text;
}

TEST(ReadCorpusFile, GivesTheBytesOfTheFile) {
  const TempDirectory dir;
  const std::string bytes("a\0b\xFF\r\n", 6);
  EXPECT_EQ(read_corpus_file(dir.write("x.bin", bytes)), bytes);
}

TEST(ReadCorpusFile, ReadsFilesLongerThanAChunk) {
  const TempDirectory dir;
  const std::string text = long_text();
  ASSERT_GT(text.size(), std::size_t{2} << 20U);
  EXPECT_EQ(read_corpus_file(dir.write("x.txt", text)), text);
}

TEST(ReadCorpusFile, GzipIsReadThrough) {
  const TempDirectory dir;
  const std::string text = long_text();
  write_gzip(dir / "x.txt.gz", text);
  EXPECT_EQ(read_corpus_file(dir / "x.txt.gz"), text);
}

TEST(ReadCorpusFile, CutOffGzipIsRefused) {
  const TempDirectory dir;
  write_gzip(dir / "x.txt.gz", long_text());
  std::filesystem::resize_file(dir / "x.txt.gz", std::filesystem::file_size(dir / "x.txt.gz") / 2);
  EXPECT_THAT(message_of<DataError>([&] { read_corpus_file(dir / "x.txt.gz"); }),
              HasSubstr("damaged or cut off"));
}

TEST(ReadCorpusFile, GzipWithAFlippedByteIsRefused) {
  const TempDirectory dir;
  write_gzip(dir / "x.txt.gz", long_text());
  std::fstream file(dir / "x.txt.gz", std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(20'000);
  const char old = static_cast<char>(file.get());
  file.seekp(20'000);
  file.put(static_cast<char>(old ^ 0x55));
  file.close();
  EXPECT_THROW(read_corpus_file(dir / "x.txt.gz"), DataError);
}

TEST(ReadCorpusFile, PlainTextNamedGzipIsRefused) {
  const TempDirectory dir;
  const std::string file = dir.write("x.gz", "plain text\n");
  EXPECT_THAT(message_of<DataError>([&] { read_corpus_file(file); }), HasSubstr("not gzip data"));
}

TEST(ReadCorpusFile, MissingFileIsNamed) {
  const TempDirectory dir;
  EXPECT_THAT(message_of<DataError>([&] { read_corpus_file(dir / "nowhere.txt"); }),
              HasSubstr("nowhere.txt: no such file"));
}

TEST(ReadCorpusFile, DirectoryIsRefused) {
  const TempDirectory dir;
  EXPECT_THAT(message_of<DataError>([&] { read_corpus_file(dir.path()); }),
              HasSubstr("a directory"));
}

TEST(ReadCorpusFile, ADeviceIsRefusedBeforeItIsRead) {
  EXPECT_THAT(message_of<DataError>([] { read_corpus_file("/dev/zero"); }),
              HasSubstr("/dev/zero: a device; expected a text file"));
}

TEST(ReadCorpusFile, EmptyFileIsRefused) {
  const TempDirectory dir;
  const std::string file = dir.write("empty.txt", "");
  EXPECT_THAT(message_of<DataError>([&] { read_corpus_file(file); }),
              HasSubstr("empty.txt: the file is"));
  EXPECT_THROW(read_corpus_file(dir.write("empty.gz", "")), DataError);
}

// A corpus of gigabytes must not take twice its size.
TEST(ReadTextFile, TakesNoMoreMemoryThanTheFileHasBytes) {
  const TempDirectory dir;
  const std::string text = read_text_file(dir.write("x.txt", long_text()));
  ASSERT_GT(text.size(), std::size_t{2} << 20U);
  EXPECT_LT(text.capacity(), text.size() + 4096);
}

TEST(ReadTextFile, NulByteIsReportedByOffsetAndLine) {
  const TempDirectory dir;
  const std::string file = dir.write("x.txt", std::string("one\ntwo\nth\0ree\n", 15));
  EXPECT_THAT(message_of<DataError>([&] { read_text_file(file); }),
              HasSubstr("x.txt: a NUL byte at byte 10, line 3"));
}

TEST(ReadTextFile, MalformedUtf8IsReportedByOffsetAndLine) {
  const TempDirectory dir;
  const std::string file = dir.write("latin1.txt", "one\nna\xEFve\n");
  EXPECT_THAT(message_of<DataError>([&] { read_text_file(file); }),
              HasSubstr("latin1.txt: malformed UTF-8 at byte 6, line 2"));
}

TEST(ReadTextFile, TheFirstFaultIsReported) {
  const TempDirectory dir;
  const std::string file = dir.write("x.txt", std::string("\xFF\n\0\n", 4));
  EXPECT_THAT(message_of<DataError>([&] { read_text_file(file); }),
              HasSubstr("malformed UTF-8 at byte 0, line 1"));
}

TEST(ReadTextFile, GzipWithoutItsNameIsRecognised) {
  const TempDirectory dir;
  write_gzip(dir / "x.gz", long_text());
  std::filesystem::rename(dir / "x.gz", dir / "x.txt");
  EXPECT_THAT(message_of<DataError>([&] { read_text_file(dir / "x.txt"); }),
              HasSubstr("should end in .gz"));
}

TEST(ReadTextFile, ByteOrderMarkIsLeftOut) {
  const TempDirectory dir;
  EXPECT_EQ(read_text_file(dir.write("x.txt", "\xEF\xBB\xBFtext\n")), "text\n");
}

}  // namespace
}  // namespace dsf
