#include "apps/dsf/interchange_summary.h"

#include <fmt/format.h>

#include "dsf/train/progress.h"

namespace dsf {

void print_summary(const InterchangeSummary& summary) {
  fmt::print("{} layer{} of {} {} units, vocabulary {}: {} parameters, step {}\n", summary.layers,
             summary.layers == 1 ? "" : "s", summary.hidden, summary.mixer, summary.vocab,
             format_count(static_cast<double>(summary.parameters)), summary.step);
}

}  // namespace dsf
