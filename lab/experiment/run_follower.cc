#include "lab/experiment/run_follower.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "dsf/base/directory_lock.h"
#include "dsf/base/error.h"
#include "dsf/run/run_directory.h"
#include "dsf/train/training_run.h"

namespace dsf {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path) {
  throw IoError(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
}

/// An open file, closed with its scope.
class OpenFile {
 public:
  /// O_NONBLOCK: opening a pipe must not wait for someone who writes into it.
  explicit OpenFile(const std::filesystem::path& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) fail(path_);
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  struct stat status() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail(path_);
    return status;
  }

  std::string read_from(std::uint64_t offset) const {
    std::string text;
    std::array<char, 65536> piece;
    while (true) {
      const auto place = static_cast<off_t>(offset + text.size());
      const ssize_t count = ::pread(descriptor_, piece.data(), piece.size(), place);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail(path_);
      if (count == 0) return text;
      text.append(piece.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  const std::filesystem::path& path_;
  int descriptor_;
};

}  // namespace

FileTail::News FileTail::read() {
  const OpenFile file(path_);
  const struct stat status = file.status();
  if (!S_ISREG(status.st_mode)) {
    throw IoError(fmt::format("{} is not a regular file", path_.string()));
  }
  News news;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  news.replaced = status.st_dev != device_ || status.st_ino != inode_ || size < consumed_;
  if (news.replaced) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
    consumed_ = 0;
  }
  if (size == consumed_) return news;
  const std::string text = file.read_from(consumed_);
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    news.lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  consumed_ += begin;
  return news;
}

RunFollower::RunFollower(const std::filesystem::path& root) : log_(RunPaths{root}.log()) {
  record_.root = root;
}

void RunFollower::refresh() {
  check_is_run(record_.root);
  const FileTail::News news = log_.read();
  if (news.replaced) {
    RunRecord fresh;
    fresh.root = record_.root;
    fresh.config = read_run_config(record_.root);
    fresh.state = kPartial;
    record_ = std::move(fresh);
    logged_state_ = kPartial;
    generation_ += 1;
  }
  record_.state = logged_state_;
  for (const std::string& line : news.lines) add_log_line(line, record_);
  logged_state_ = record_.state;
  if (logged_state_ == kPartial && directory_is_held(record_.root)) record_.state = kRunning;
}

}  // namespace dsf
