#include "dsf/train/memory_check.h"

#include <fmt/format.h>

#include "dsf/base/error.h"
#include "dsf/base/process_memory.h"
#include "dsf/train/training_memory.h"

namespace dsf {

void require_memory(double needed, double available) {
  constexpr double kGigabyte = 1e9;
  if (available <= 0.0 || needed <= available) return;  // 0: the system does not say
  throw UsageError(fmt::format(
      "training needs about {:.1f} GB of memory, but only {:.1f} GB can be had now; a smaller "
      "--hidden, --batch, --context or data.vocab needs less, model.recompute = true saves some "
      "(dsf info tells the figure), and --force-memory trains all the same",
      needed / kGigabyte, available / kGigabyte));
}

void require_memory(const RunConfig& config, const Dataset& data, int processes) {
  const double available = available_bytes();
  const auto count = static_cast<double>(processes);
  // The upper bound costs nothing; the estimate goes through an epoch of batches.
  const dim_t vocab = data.tokenizer->vocab_size();
  if (count * estimate_training_memory(config, vocab).bytes <= available) return;
  require_memory(count * estimate_training_memory(config, data).bytes, available);
}

}  // namespace dsf
