#include "dsf/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "dsf/base/error.h"
#include "dsf/base/fault.h"
#include "dsf/base/io_failure.h"
#include "dsf/base/system_calls.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

void write_all(int descriptor, const void* data, std::size_t size, const fs::path& path) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = system_call::write(descriptor, next, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      fail_io("write", path, errno);
    }
    if (written == 0) fail_io("write", path, ENOSPC);  // no error, but no progress either
    next += written;
    size -= static_cast<std::size_t>(written);
  }
}

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

std::string read_file(const fs::path& path) {
  const int descriptor = open_or_fail(path, O_RDONLY, "open");
  struct stat info {};
  const bool sized = ::fstat(descriptor, &info) == 0 && info.st_size > 0;
  // A byte more than the file has, so that the end shows without growing; files that know no size,
  // as those of /proc, grow.
  constexpr std::size_t kUnsized = 4096;
  std::string contents(sized ? static_cast<std::size_t>(info.st_size) + 1 : kUnsized, '\0');
  std::size_t size = 0;
  while (true) {
    if (size == contents.size()) contents.resize(2 * size);
    const ssize_t got = ::read(descriptor, contents.data() + size, contents.size() - size);
    if (got == 0) break;
    if (got > 0) {
      size += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      const int error = errno;
      ::close(descriptor);
      fail_io("read", path, error);
    }
  }
  ::close(descriptor);
  contents.resize(size);
  return contents;
}

FileWriter::FileWriter(const fs::path& path)
    : path_(path), descriptor_(open_or_fail(path, O_WRONLY | O_CREAT | O_TRUNC, "create")) {}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void FileWriter::write(const void* data, std::size_t size) {
  write_all(descriptor_, data, size, path_);
  hasher_.update(data, size);
  bytes_ += size;
}

void FileWriter::finish() {
  if (system_call::sync(descriptor_) != 0) fail_io("sync", path_, errno);
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail_io("close", path_, errno);
}

AppendFile::AppendFile(const fs::path& path)
    : path_(path), descriptor_(open_or_fail(path, O_WRONLY | O_CREAT | O_APPEND, "open")) {}

AppendFile::~AppendFile() { ::close(descriptor_); }

void AppendFile::append(std::string_view text) {
  write_all(descriptor_, text.data(), text.size(), path_);
}

void AppendFile::sync() {
  if (system_call::sync(descriptor_) != 0) fail_io("sync", path_, errno);
}

void make_directory(const fs::path& path) {
  if (system_call::mkdir(path) != 0 && errno != EEXIST)
    fail_io("create the directory", path, errno);
}

void sync_directory(const fs::path& directory) {
  const int descriptor = open_or_fail(directory, O_RDONLY | O_DIRECTORY, "open");
  const int synced = system_call::sync(descriptor);
  const int error = errno;
  ::close(descriptor);
  if (synced != 0) fail_io("sync", directory, error);
}

void rename_file(const fs::path& from, const fs::path& to) {
  if (system_call::rename(from, to) != 0) {
    fail_io("rename " + from.string() + " to", to, errno);
  }
}

void replace_file(const fs::path& path, std::string_view contents) {
  write_beside(path, [&](FileWriter& writer) { writer.write(contents); });
}

void write_beside(const fs::path& path, const std::function<void(FileWriter&)>& write) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) {  // a rename would destroy a device
    throw IoError(fmt::format("cannot replace {}: it is not a regular file", path.string()));
  }
  const fs::path beside = path.string() + ".tmp";
  try {
    FileWriter writer(beside);
    write(writer);
    writer.finish();
    crash_point("replace.before_rename");
    rename_file(beside, path);
  } catch (...) {
    ::unlink(beside.c_str());
    throw;
  }
  crash_point("replace.after_rename");
  sync_directory(directory_of(path));
}

void replace_symlink(const fs::path& target, const fs::path& link) {
  const fs::path beside = link.string() + ".tmp";
  ::unlink(beside.c_str());
  if (system_call::symlink(target, beside) != 0) fail_io("create the link", beside, errno);
  crash_point("link.before_rename");
  rename_file(beside, link);
  crash_point("link.after_rename");
  sync_directory(directory_of(link));
}

std::uint64_t free_bytes(const fs::path& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) fail_io("ask for the free space of", path, errno);
  return std::uint64_t{info.f_bavail} * info.f_frsize;
}

}  // namespace dsf
