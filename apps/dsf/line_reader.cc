#include "apps/dsf/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <array>

namespace dsf {

bool LineReader::is_terminal() const { return ::isatty(STDIN_FILENO) != 0; }

std::optional<std::string> LineReader::next(const std::function<int()>& stop) {
  std::size_t end = buffer_.find('\n');
  while (end == std::string::npos && !at_end_) {
    if (stop() != 0) return std::nullopt;
    // read() starts again after a signal, poll() never does; the timeout is for a signal that
    // arrives between the two lines.
    constexpr int kWakeUp = 200;  // milliseconds
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, kWakeUp) <= 0) continue;
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    at_end_ = count <= 0;
    if (!at_end_) buffer_.append(bytes.data(), static_cast<std::size_t>(count));
    end = buffer_.find('\n');
  }
  if (end == std::string::npos && buffer_.empty()) return std::nullopt;
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end == std::string::npos ? end : end + 1);
  return line;
}

}  // namespace dsf
