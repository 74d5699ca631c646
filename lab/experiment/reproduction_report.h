#pragma once

// What a finished grid of the paper's models says: table, JSON, figures.

#include <string>
#include <vector>

#include "lab/experiment/reproduction.h"
#include "lab/report/figure.h"
#include "lab/report/table.h"

namespace dsf {

/// Ours beside the paper's: parameters, perplexities, ratios to BPTT, and whether DSF lies between
/// BPTT and FT-BPTT.
Table reproduction_table(const std::vector<ModelRuns>& models);

/// The same for machines, as JSON text.
std::string reproduction_json(const PaperExperiment& experiment,
                              const std::vector<ModelRuns>& models);

/// Best validation perplexity of each model, one curve per method. Mean over the seeds.
Figure reproduction_figure(const PaperExperiment& experiment, const std::vector<ModelRuns>& models);

/// curves_<model>: perplexity of training and validation over the epochs, two curves per method, mean
/// over the seeds, as far as all of them were evaluated. Models without a finished run are left
/// out.
std::vector<NamedFigure> curve_figures(const std::vector<ModelRuns>& models);

}  // namespace dsf
