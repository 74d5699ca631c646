#include "dsf/data/text_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/utf8.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

std::string read_plain(const fs::path& file) {
  try {
    return read_file(file);
  } catch (const IoError& error) {
    throw DataError(error.what());
  }
}

std::string read_gzip(const fs::path& file) {
  errno = 0;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(file.c_str(), "rb"), gzclose_r);
  if (in == nullptr) throw DataError(fmt::format("{}: {}", file.string(), std::strerror(errno)));
  std::string bytes;
  std::vector<char> chunk(std::size_t{1} << 20U);
  int count = 0;
  // Of a stream that ends too early: Z_BUF_ERROR, which the next read forgets from zlib 1.3.2 on.
  int status = Z_OK;
  while (status == Z_OK &&
         (count = gzread(in.get(), chunk.data(), static_cast<unsigned>(chunk.size()))) > 0) {
    bytes.append(chunk.data(), static_cast<std::size_t>(count));
    gzerror(in.get(), &status);
  }
  // zlib hands a file that is not in gzip's format through unchanged.
  const bool compressed = gzdirect(in.get()) == 0;
  const int closed = gzclose_r(in.release());
  if (count < 0 || status != Z_OK || closed != Z_OK) {
    throw DataError(
        fmt::format("{}: the gzip data is damaged or cut off (readable up to byte {} of the text); "
                    "fetch the file again",
                    file.string(), bytes.size()));
  }
  if (!compressed && !bytes.empty()) {
    throw DataError(fmt::format("{}: named .gz, but not gzip data; rename it if it is plain text",
                                file.string()));
  }
  return bytes;
}

/// By its mark, or by the zero byte that every Latin letter has there.
bool looks_like_utf16(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return true;
  return text.size() > 1 && (text[0] == '\0') != (text[1] == '\0');
}

}  // namespace

std::string read_corpus_file(const fs::path& file) {
  std::error_code ignored;
  const fs::file_status status = fs::status(file, ignored);
  if (!fs::exists(status)) {
    throw DataError(fmt::format("{}: no such file; expected a text file", file.string()));
  }
  if (fs::is_directory(status)) {
    throw DataError(fmt::format("{}: a directory; expected a text file", file.string()));
  }
  // Reading a device such as /dev/zero would go on until the memory is full. A pipe ends.
  if (fs::is_character_file(status) || fs::is_block_file(status)) {
    throw DataError(fmt::format("{}: a device; expected a text file", file.string()));
  }
  std::string bytes = file.extension() == ".gz" ? read_gzip(file) : read_plain(file);
  if (bytes.empty()) {
    throw DataError(fmt::format("{}: the file is empty; expected text", file.string()));
  }
  return bytes;
}

void require_utf8(std::string_view text, const std::string& origin) {
  const std::size_t nul = text.find('\0');
  const std::size_t malformed = find_malformed_utf8(text.substr(0, nul));
  const std::size_t at = std::min(nul, malformed);
  if (at == std::string_view::npos) return;
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const std::string_view what = malformed < nul ? "malformed UTF-8" : "a NUL byte";
  const std::string_view hint =
      text.starts_with("\x1f\x8b") ? "it looks like gzip data: its name should end in .gz"
      : looks_like_utf16(text)     ? "it looks like UTF-16: iconv -f UTF-16 -t UTF-8 converts it"
                                   : "expected UTF-8 text; the byte tokenizer reads any bytes";
  throw DataError(fmt::format("{}: {} at byte {}, line {}; {}", origin, what, at, line, hint));
}

std::string read_text_file(const fs::path& file) {
  std::string text = read_corpus_file(file);
  require_utf8(text, file.string());
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

}  // namespace dsf
