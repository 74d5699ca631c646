#include "dsf/base/fault.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "dsf/base/error.h"

namespace dsf {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 5> kErrors = {
    {{"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EDQUOT", EDQUOT}, {"EACCES", EACCES}, {"EROFS", EROFS}}};
constexpr std::string_view kShort = "short";
constexpr std::string_view kAnyCall = "any";
constexpr std::string_view kList = "list";

// A name and the passage of it (from 1) at which something is to happen.
struct Countdown {
  std::string name;
  long left = 0;

  // True once: at the passage asked for.
  bool passes(std::string_view passed) {
    if (left <= 0 || (name != passed && name != kAnyCall)) return false;
    return --left == 0;
  }
};

struct Plan {
  Countdown call;
  Fault fault;
  bool disk_full = false;  // behind a short write
  Countdown point;
  bool list_points = false;
  bool armed = false;
};

Countdown parse_countdown(std::string_view text, std::string_view name, std::string_view count) {
  long value = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), value);
  if (name.empty() || error != std::errc() || end != count.data() + count.size() || value < 1) {
    throw UsageError(fmt::format("{}: there must be a name, \":\" and a number from 1 on", text));
  }
  return {std::string(name), value};
}

Fault parse_error(std::string_view text, std::string_view name) {
  if (name == kShort) return {0, true};
  for (const auto& [known, value] : kErrors) {
    if (known == name) return {value, false};
  }
  throw UsageError(fmt::format(
      "DSF_FAULT={}: must end in :ENOSPC, :EIO, :EDQUOT, :EACCES, :EROFS or :short", text));
}

Plan parse_plan(std::string_view fault, std::string_view crash_at) {
  Plan plan;
  if (!fault.empty()) {
    const std::size_t first = std::min(fault.find(':'), fault.size());
    const std::size_t last = std::min(fault.rfind(':'), fault.size());
    plan.fault = parse_error(fault, fault.substr(std::min(last + 1, fault.size())));
    const std::string_view count = last > first ? fault.substr(first + 1, last - first - 1) : "";
    plan.call = parse_countdown(fault, fault.substr(0, first), count);
  }
  if (crash_at == kList) {
    plan.list_points = true;
  } else if (!crash_at.empty()) {
    const std::size_t colon = crash_at.find(':');
    const bool counted = colon != std::string_view::npos;
    plan.point = parse_countdown(crash_at, crash_at.substr(0, colon),
                                 counted ? crash_at.substr(colon + 1) : "1");
  }
  plan.armed = !fault.empty() || !crash_at.empty();
  return plan;
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Plan& plan() {
  static Plan current = parse_plan(variable("DSF_FAULT"), variable("DSF_CRASH_AT"));
  return current;
}

}  // namespace

Fault next_fault(std::string_view call) {
  Plan& current = plan();
  if (!current.armed) return {};
  if (current.disk_full) return {ENOSPC, false};
  // Only a write can be short.
  if (current.fault.short_write && call != "write") return {};
  if (!current.call.passes(call)) return {};
  current.disk_full = current.fault.short_write;
  return current.fault;
}

bool crash_due(std::string_view name) {
  Plan& current = plan();
  if (!current.armed) return false;
  if (current.list_points) {
    const std::string line = fmt::format("crash point {}\n", name);
    if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return false;
  }
  return current.point.passes(name);
}

void crash() {
  std::raise(SIGKILL);
  std::abort();  // not reached: nobody survives SIGKILL
}

void crash_point(std::string_view name) {
  if (crash_due(name)) crash();
}

void plan_faults(std::string_view fault, std::string_view crash_at) {
  plan() = parse_plan(fault, crash_at);
}

}  // namespace dsf
