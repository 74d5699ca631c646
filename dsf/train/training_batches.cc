#include "dsf/train/training_batches.h"

namespace dsf {

Batcher training_batches(const RunConfig& config, const Split& split, token_t bos) {
  return {split,
          config.data.batching,
          config.data.context,
          config.train.batch,
          bos,
          static_cast<std::uint64_t>(config.train.seed),
          /*shuffled=*/true};
}

}  // namespace dsf
