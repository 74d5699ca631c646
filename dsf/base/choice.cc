#include "dsf/base/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dsf/base/error.h"

namespace dsf {

void refuse_choice(std::string_view key, std::string_view name,
                   const std::vector<std::string>& known) {
  throw ConfigError(
      fmt::format("{} = \"{}\" is unknown; known: {}", key, name, fmt::join(known, ", ")));
}

}  // namespace dsf
