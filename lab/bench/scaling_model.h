#pragma once

// What a training step would take on a cluster, worked out from one rank's measured step and
// published figures of networks. docs/scaling.md shows and discusses the result.
//
//   all-reduce of n bytes by R ranks over links of b bytes/s and latency l:
//     direct             2 (R - 1) (l + n / (R b))     as here: its part to every other rank, twice
//     halving/doubling   2 log2(R) l + 2 (R - 1)/R n / b
//   bucket k sets out when it is filled and the one before has arrived:
//     end_k = max(ready_k, end_{k-1}) + all-reduce_k
//   exposed = what of the last end lies behind the end of the backward pass
//   efficiency = step / (step + exposed)            each rank's share of the batch being the same

#include <string>
#include <vector>

namespace dsf {

struct Network {
  std::string name;
  double gigabits = 0.0;  ///< a second, each way
  double latency = 0.0;   ///< seconds of an MPI message, one way
};

/// The networks of docs/scaling.md, where the sources of the figures are named.
const std::vector<Network>& published_networks();

enum class AllReduce { direct, halving };

/// `ranks` >= 1.
double all_reduce_seconds(const Network& network, AllReduce algorithm, double bytes, int ranks);

/// One rank's step without communication.
struct StepProfile {
  struct Bucket {
    double bytes = 0.0;
    double ready = 0.0;  ///< seconds after the beginning of the step
  };
  double step = 0.0;          ///< seconds
  double backward_end = 0.0;  ///< seconds after the beginning of the step
  std::vector<Bucket> buckets;

  /// The same by a rank that computes `times` as fast.
  StepProfile faster(double times) const;
};

struct ModelledStep {
  double communication = 0.0;  ///< seconds, hidden or not
  double exposed = 0.0;
  double efficiency = 1.0;
};

ModelledStep model_step(const StepProfile& profile, const Network& network, AllReduce algorithm,
                        int ranks);

}  // namespace dsf
