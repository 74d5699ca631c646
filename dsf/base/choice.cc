#include "dsf/base/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dsf/base/error.h"

namespace dsf {

std::string in_words(const std::vector<std::string>& names) {
  if (names.size() < 2) return names.empty() ? std::string() : names.front();
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

void refuse_choice(std::string_view key, std::string_view name,
                   const std::vector<std::string>& known) {
  throw ConfigError(
      fmt::format("{} = \"{}\" is unknown; known: {}", key, name, fmt::join(known, ", ")));
}

}  // namespace dsf
