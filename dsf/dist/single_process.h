#pragma once

#include "dsf/dist/communicator.h"

namespace dsf {

/// One rank alone: sums are what they were, and nothing is waited for.
class SingleProcess final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_ranks() const override { return 1; }

  Ticket start_all_reduce(std::span<float> values) override;
  Ticket start_reduce_scatter(std::span<const float> values, std::span<float> part) override;
  Ticket start_reduce_scatter(std::span<const bf16_t> values, std::span<float> part) override;
  Ticket start_all_gather(std::span<const float> part, std::span<float> values) override;
  Ticket start_all_gather(std::span<const bf16_t> part, std::span<bf16_t> values) override;
  Ticket start_local(std::function<void()> work) override;
  void wait(Ticket /*ticket*/) override {}

  void all_reduce(std::span<double> /*values*/) override {}
  void broadcast(std::span<std::byte> /*values*/) override {}
  void barrier() override {}
  [[noreturn]] void abort(int exit_code) override;

  void watch(double /*seconds*/) override {}
  void excuse(bool /*busy*/) override {}
  std::unique_ptr<Communicator> first_ranks(int count) override;
  double busy_seconds() const override { return 0.0; }
};

/// The one of this process.
Communicator& single_process();

}  // namespace dsf
