#include "dsf/optim/clip.h"

#include <cmath>
#include <vector>

#include "dsf/kernels/optim_kernels.h"
#include "dsf/kernels/parallel.h"

namespace dsf {

double global_norm(std::span<const float> gradient) {
  constexpr dim_t kChunk = 65536;
  const auto size = static_cast<dim_t>(gradient.size());
  std::vector<double> partial(static_cast<std::size_t>(task_count(size, kChunk)));
  parallel_ranges(size, kChunk, [&](dim_t begin, dim_t end) {
    partial[static_cast<std::size_t>(begin / kChunk)] = sum_of_squares(
        gradient.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  });
  double sum = 0.0;
  for (const double chunk : partial) sum += chunk;
  return std::sqrt(sum);
}

double clip_scale(double norm, double max_norm) {
  return max_norm > 0.0 && norm > max_norm ? max_norm / norm : 1.0;
}

}  // namespace dsf
