#pragma once

#include <functional>
#include <optional>
#include <string>

namespace dsf {

/// Lines of standard input, for a person who may press Ctrl-C instead of entering one.
class LineReader {
 public:
  bool is_terminal() const;

  /// The next line without its end; nothing at the end of the input, or if `stop` says so.
  /// Signals wake it up.
  std::optional<std::string> next(const std::function<int()>& stop);

 private:
  std::string buffer_;
  bool at_end_ = false;
};

}  // namespace dsf
