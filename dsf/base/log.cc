#include "dsf/base/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "dsf/base/message_handler.h"

namespace dsf {
namespace {

constexpr const char* kYellow = "33";
constexpr const char* kRed = "1;31";

std::mutex terminal_mutex;
bool live_line_shown = false;

MessageHandler& message_handler() {
  static MessageHandler handler;
  return handler;
}

spdlog::logger& logger() {
  static const std::unique_ptr<spdlog::logger> instance = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    sink->set_pattern("%v");
    return std::make_unique<spdlog::logger>("dsf", std::move(sink));
  }();
  return *instance;
}

void write_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void erase_live_line() {
  if (!live_line_shown) return;
  write_stderr("\r\033[K");
  std::fflush(stderr);
  live_line_shown = false;
}

spdlog::level::level_enum level_of(MessageKind kind) {
  switch (kind) {
    case MessageKind::info:
      return spdlog::level::info;
    case MessageKind::warning:
      return spdlog::level::warn;
    case MessageKind::error:
      break;
  }
  return spdlog::level::err;
}

void log_message(MessageKind kind, std::string_view prefix, std::string_view message) {
  const std::lock_guard lock(terminal_mutex);
  erase_live_line();
  if (message_handler()) {
    message_handler()(kind, message);
  } else {
    logger().log(level_of(kind), "{}{}", prefix, message);
  }
}

// https://no-color.org: any value but the empty one says no.
bool colour_is_wanted() {
  const char* no_color = std::getenv("NO_COLOR");
  return terminal_is_live() && (no_color == nullptr || *no_color == '\0');
}

std::string coloured(const char* colour, std::string_view text) {
  return colour_is_wanted() ? fmt::format("\033[{}m{}\033[0m", colour, text) : std::string(text);
}

std::size_t terminal_width() {
  winsize size{};
  constexpr std::size_t kUsual = 80;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return size.ws_col;
}

std::string with_single_spaces(std::string_view text) {
  std::string line(text);
  const auto both_spaces = [](char a, char b) { return a == ' ' && b == ' '; };
  line.erase(std::unique(line.begin(), line.end(), both_spaces), line.end());
  return line;
}

}  // namespace

void set_message_handler(MessageHandler handler) {
  const std::lock_guard lock(terminal_mutex);
  message_handler() = std::move(handler);
}

void log_info(std::string_view message) { log_message(MessageKind::info, "", message); }

void log_warning(std::string_view message) {
  log_message(MessageKind::warning, coloured(kYellow, "warning:") + " ", message);
}

void log_error(std::string_view message) {
  log_message(MessageKind::error, coloured(kRed, "error:") + " ", message);
}

void mute_messages() { logger().set_level(spdlog::level::err); }

bool terminal_is_live() {
  static const bool live = [] {
    const char* term = std::getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
  }();
  return live;
}

void show_live_line(std::string_view text) {
  const std::lock_guard lock(terminal_mutex);
  // A line that wraps cannot be rewritten in place.
  const std::size_t width = terminal_width() - 1;
  const std::string line = text.size() <= width ? std::string(text) : with_single_spaces(text);
  write_stderr("\r\033[K");
  write_stderr(std::string_view(line).substr(0, width));
  std::fflush(stderr);
  live_line_shown = true;
}

void clear_live_line() {
  const std::lock_guard lock(terminal_mutex);
  erase_live_line();
}

}  // namespace dsf
