#include "lab/bench/scaling_model.h"

#include <algorithm>
#include <cmath>

namespace dsf {

const std::vector<Network>& published_networks() {
  constexpr double kTcp = 20e-6;
  constexpr double kKernelBypass = 1.93e-6;
  static const std::vector<Network> networks = {
      {"10 GbE, TCP", 10.0, kTcp},
      {"100 GbE, RDMA", 100.0, kKernelBypass},
      {"InfiniBand HDR", 200.0, kKernelBypass},
      {"400 GbE or InfiniBand NDR", 400.0, kKernelBypass}};
  return networks;
}

double all_reduce_seconds(const Network& network, AllReduce algorithm, double bytes, int ranks) {
  if (ranks == 1) return 0.0;
  constexpr double kBitsPerByte = 8.0;
  const auto count = static_cast<double>(ranks);
  const double wire = 2.0 * (count - 1.0) / count * bytes * kBitsPerByte / (network.gigabits * 1e9);
  const double messages =
      algorithm == AllReduce::direct ? 2.0 * (count - 1.0) : 2.0 * std::ceil(std::log2(count));
  return wire + messages * network.latency;
}

StepProfile StepProfile::faster(double times) const {
  StepProfile profile{step / times, backward_end / times, buckets};
  for (Bucket& bucket : profile.buckets) bucket.ready /= times;
  return profile;
}

ModelledStep model_step(const StepProfile& profile, const Network& network, AllReduce algorithm,
                        int ranks) {
  ModelledStep step;
  double end = 0.0;
  for (const StepProfile::Bucket& bucket : profile.buckets) {
    const double seconds = all_reduce_seconds(network, algorithm, bucket.bytes, ranks);
    end = std::max(end, bucket.ready) + seconds;
    step.communication += seconds;
  }
  step.exposed = ranks == 1 ? 0.0 : std::max(0.0, end - profile.backward_end);
  step.efficiency = profile.step / (profile.step + step.exposed);
  return step;
}

}  // namespace dsf
