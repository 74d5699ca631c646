#pragma once

// The paper's table 1, measured: how the time of a GRU layer's backward pass grows with the length
// T and the width D, by exact feedback, by the three forms of DSF's scan, and without feedback.
//
// The backward pass has three matrix products over all rows in common, O(T D^2), which hide what
// the table is about. So the path through time is also given by itself: for DSF the scan alone, for
// BPTT what its backward pass takes longer than FT-BPTT's in the same round. Where that difference
// is within the spread of its rounds, negative ones included, it is noise: it is kept, but no
// exponent is fitted to it.

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "dsf/experiment/paper_experiments.h"
#include "dsf/experiment/run_record.h"
#include "dsf/experiment/table.h"

namespace dsf {

/// Medians of interleaved runs, in seconds.
struct ComplexityPoint {
  std::string method;  ///< bptt | ft | dsf:serial | dsf:blocked | dsf:fft
  dim_t batch = 0;
  dim_t steps = 0;
  dim_t hidden = 0;
  double backward = 0.0;            ///< of the layer
  std::optional<double> path = {};  ///< through time alone; FT-BPTT has none
  double path_spread = 0.0;  ///< median distance of the rounds' from it, where it is a difference
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
/// one shape, about. Measures nothing more once `stop`
/// returns true.
std::vector<ComplexityPoint> measure_complexity(const std::vector<ComplexitySweep>& sweeps,
                                                const std::filesystem::path& file, double seconds,
                                                const std::function<bool()>& stop);

/// y = c x^exponent, by least squares of the logarithms; `error`: standard error of the exponent,
/// from what the points are off the line.
struct PowerFit {
  double exponent = 0.0;
  double error = 0.0;
};

/// Nothing for fewer than three points (there would be no error) or one that is not positive.
std::optional<PowerFit> fit_power(const std::vector<double>& x, const std::vector<double>& y);

/// The first length at which the FFT is faster than the other form and stays so; nothing where
/// there is none among those measured.
std::optional<dim_t> fft_crossover(const std::vector<ComplexityPoint>& points,
                                   const ComplexitySweep& sweep, const std::string& other);

/// Exponents over T and D with their errors, the paper's beside them; "(3 of 5)" where not every
/// place of the sweep has a point.
Table exponent_table(const std::vector<ComplexitySweep>& sweeps,
                     const std::vector<ComplexityPoint>& points);
/// Where the FFT overtakes the other forms.
Table crossover_table(const std::vector<ComplexitySweep>& sweeps,
                      const std::vector<ComplexityPoint>& points);
/// Every time.
Table complexity_times(const std::vector<ComplexityPoint>& points);

/// All of it, as JSON text.
std::string complexity_json(const std::vector<ComplexitySweep>& sweeps,
                            const std::vector<ComplexityPoint>& points);

/// over_steps_B<batch> and over_hidden_B<batch>: the path through time, a curve a method.
std::vector<NamedFigure> complexity_figures(const std::vector<ComplexitySweep>& sweeps,
                                            const std::vector<ComplexityPoint>& points);

}  // namespace dsf
