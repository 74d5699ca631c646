#pragma once

// Runs as tables and figures.

#include <vector>

#include "dsf/run/run_record.h"
#include "lab/report/figure.h"
#include "lab/report/table.h"

namespace dsf {

/// A row a run.
Table run_table(const std::vector<RunRecord>& runs);

/// loss, perplexity, learning_rate, gradient_norm and tokens_per_second over steps, a curve a run;
/// for one run alone the loss has training and validation. Curves without points are left out, and
/// so are figures without curves.
std::vector<NamedFigure> run_figures(const std::vector<RunRecord>& runs);

}  // namespace dsf
