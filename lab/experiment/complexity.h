#pragma once

// The paper's table 1, measured: how the time of a GRU layer's backward pass grows with the length
// T and the width D, by exact feedback, by the three forms of DSF's scan, and without feedback.
//
// The backward pass has three matrix products over all rows in common, O(T D^2), which hide what
// the table is about. So the path through time is also given by itself: for DSF the scan alone, for
// BPTT what its backward pass takes longer than FT-BPTT's in the same round. If that difference
// is within the spread of its rounds, negative ones included, it is noise: it is kept, but no
// exponent is fitted to it.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "dsf/train/training_run.h"
#include "lab/experiment/paper_experiments.h"

namespace dsf {

/// Medians of interleaved runs, in seconds.
struct ComplexityPoint {
  std::string method;  ///< bptt | ft | dsf:serial | dsf:blocked | dsf:fft
  dim_t batch = 0;
  dim_t steps = 0;
  dim_t hidden = 0;
  double backward = 0.0;            ///< of the layer
  std::optional<double> path = {};  ///< through time alone; FT-BPTT has none
  double path_spread = 0.0;  ///< median distance of the rounds' from it, if it is a difference
};

nlohmann::ordered_json to_json(const ComplexityPoint& point);

struct ComplexityShape {
  dim_t batch = 0;
  dim_t steps = 0;
  dim_t hidden = 0;
};

/// One batch size: lengths at a width, and widths at a length.
struct ComplexitySweep {
  dim_t batch = 0;
  dim_t hidden = 0;  ///< of the lengths
  std::vector<dim_t> lengths;
  dim_t steps = 0;  ///< of the widths
  std::vector<dim_t> widths;

  std::vector<ComplexityShape> shapes() const;  ///< each once
};

/// Batches of 1 and 128. full: twice as long and twice as wide as quick.
std::vector<ComplexitySweep> complexity_sweeps(Scale scale);

/// Measures the shapes of the sweeps that `file` does not have yet, and adds them to it, each as
/// soon as it is measured. A file from another CPU or number of threads is replaced. `seconds`: for
/// one shape, about. Measures nothing more once `stop` asks for it.
std::vector<ComplexityPoint> measure_complexity(const std::vector<ComplexitySweep>& sweeps,
                                                const std::filesystem::path& file, double seconds,
                                                const StopRequest& stop);

}  // namespace dsf
