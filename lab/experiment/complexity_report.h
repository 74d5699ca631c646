#pragma once

// What the times of complexity.h say: exponents, crossovers, figures.

#include <optional>
#include <string>
#include <vector>

#include "lab/experiment/complexity.h"
#include "lab/report/figure.h"
#include "lab/report/table.h"

namespace dsf {

/// The first length at which the FFT is faster than the other form and stays so; nothing if
/// there is none among those measured.
std::optional<dim_t> fft_crossover(const std::vector<ComplexityPoint>& points,
                                   const ComplexitySweep& sweep, const std::string& other);

/// Exponents over T and D with their errors, the paper's beside them; "(3 of 5)" if not every
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

/// over_steps_B<batch> and over_hidden_B<batch>: the path through time, one curve per method.
std::vector<NamedFigure> complexity_figures(const std::vector<ComplexitySweep>& sweeps,
                                            const std::vector<ComplexityPoint>& points);

}  // namespace dsf
