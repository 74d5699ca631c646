#include "dsf/dist/single_process.h"

#include <algorithm>
#include <cstdlib>

namespace dsf {

Ticket SingleProcess::start_all_reduce(std::span<float> /*values*/) { return 0; }

Ticket SingleProcess::start_reduce_scatter(std::span<const float> values, std::span<float> part) {
  std::copy(values.begin(), values.end(), part.begin());
  return 0;
}

Ticket SingleProcess::start_reduce_scatter(std::span<const bf16_t> values, std::span<float> part) {
  std::transform(values.begin(), values.end(), part.begin(), to_float);
  return 0;
}

Ticket SingleProcess::start_all_gather(std::span<const float> part, std::span<float> values) {
  std::copy(part.begin(), part.end(), values.begin());
  return 0;
}

Ticket SingleProcess::start_all_gather(std::span<const bf16_t> part, std::span<bf16_t> values) {
  std::copy(part.begin(), part.end(), values.begin());
  return 0;
}

Ticket SingleProcess::start_local(std::function<void()> work) {
  work();
  return 0;
}

void SingleProcess::abort(int exit_code) { std::_Exit(exit_code); }

std::unique_ptr<Communicator> SingleProcess::first_ranks(int count) {
  return count < 1 ? nullptr : std::make_unique<SingleProcess>();
}

Communicator& single_process() {
  static SingleProcess one;
  return one;
}

}  // namespace dsf
