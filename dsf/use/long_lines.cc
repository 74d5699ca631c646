#include "dsf/use/long_lines.h"

#include <fmt/format.h>

#include "dsf/base/log.h"
#include "dsf/data/batcher.h"

namespace dsf {

void warn_of_long_lines(const Split& split, const RunConfig& config, const std::string& name) {
  constexpr double kWorthSaying = 0.01;
  const auto all = static_cast<double>(split.tokens.size());
  const auto cut =
      static_cast<double>(tokens_cut_off(split, config.data.batching, config.data.context));
  if (cut <= kWorthSaying * all) return;
  log_warning(fmt::format(
      "{}: {:.0f} of {:.0f} tokens are left out, those behind the first {} of their line "
      "(data.context); batching blocks or stream takes all",
      name, cut, all, config.data.context));
}

}  // namespace dsf
