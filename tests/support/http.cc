#include "tests/support/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace dsf {
namespace {

int connected_socket(int port, double patience) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  if (descriptor < 0) throw std::runtime_error("no socket");
  const auto seconds = static_cast<time_t>(patience);
  const timeval limit = {seconds, static_cast<suseconds_t>((patience - double(seconds)) * 1e6)};
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(descriptor);
    throw std::runtime_error("cannot connect to port " + std::to_string(port));
  }
  return descriptor;
}

std::string without_chunks(const std::string& body) {
  std::string text;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t line_end = body.find("\r\n", at);
    if (line_end == std::string::npos) break;
    const std::size_t size = std::strtoul(body.c_str() + at, nullptr, 16);
    text += body.substr(line_end + 2, size);
    at = line_end + 2 + size + 2;
  }
  return text;
}

}  // namespace

HttpAnswer send_raw(int port, const std::string& bytes, double patience) {
  const int descriptor = connected_socket(port, patience);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count =
        ::send(descriptor, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) break;  // refused before all was said
    sent += static_cast<std::size_t>(count);
  }
  std::string all;
  std::array<char, 4096> piece;
  ssize_t count = 0;
  while ((count = ::recv(descriptor, piece.data(), piece.size(), 0)) > 0) {
    all.append(piece.data(), static_cast<std::size_t>(count));
  }
  ::close(descriptor);

  HttpAnswer answer;
  const std::size_t end = all.find("\r\n\r\n");
  if (end == std::string::npos || !all.starts_with("HTTP/1.1 ")) return answer;
  answer.status = std::atoi(all.c_str() + std::string("HTTP/1.1 ").size());
  answer.head = all.substr(0, end);
  answer.body = all.substr(end + 4);
  if (answer.head.find("Transfer-Encoding: chunked") != std::string::npos) {
    answer.body = without_chunks(answer.body);
  }
  return answer;
}

HttpAnswer http(int port, const std::string& method, const std::string& path,
                const std::string& headers, const std::string& body) {
  std::string request = method + " " + path + " HTTP/1.1\r\nConnection: close\r\n";
  if (headers.find("Host:") == std::string::npos) {
    request += "Host: 127.0.0.1:" + std::to_string(port) + "\r\n";
  }
  request += headers;
  if (!body.empty()) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return send_raw(port, request + "\r\n" + body);
}

}  // namespace dsf
