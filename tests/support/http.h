#pragma once

// HTTP by hand, so that a test can also send what no client would.

#include <string>

namespace dsf {

struct HttpAnswer {
  int status = 0;  ///< 0: closed without a word
  std::string head;
  std::string body;  ///< chunks put together
};

/// Sends `bytes` to 127.0.0.1:port, reads until the server closes or has been silent for
/// `patience` seconds.
HttpAnswer send_raw(int port, const std::string& bytes, double patience = 10.0);

/// A well-formed request. `headers`: whole lines, each ended by "\r\n".
HttpAnswer http(int port, const std::string& method, const std::string& path,
                const std::string& headers = "", const std::string& body = "");

}  // namespace dsf
