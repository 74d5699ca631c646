#include "apps/dsf/watch/access.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "dsf/base/error.h"

namespace dsf {

std::string make_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw IoError(fmt::format("no random numbers for an address: {}", std::strerror(errno)));
  }
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

bool has_token(std::string_view path, std::string_view token) {
  const std::string expected = fmt::format("/{}/", token);
  if (path.size() < expected.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference |= static_cast<unsigned char>(path[i]) ^ static_cast<unsigned char>(expected[i]);
  }
  return difference == 0;
}

bool is_this_machine(std::string_view host) {
  for (const std::string_view name : {"127.0.0.1", "localhost", "[::1]"}) {
    if (!host.starts_with(name)) continue;
    const std::string_view port = host.substr(name.size());
    if (port.empty()) return true;
    return port.size() > 1 && port.front() == ':' &&
           std::all_of(port.begin() + 1, port.end(), [](char c) { return c >= '0' && c <= '9'; });
  }
  return false;
}

}  // namespace dsf
