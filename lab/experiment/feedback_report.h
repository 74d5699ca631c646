#pragma once

// What a finished grid of feedback methods says: the gap each leaves to BPTT, and the time of its
// step beside FT-BPTT's.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/experiment/reproduction.h"
#include "lab/report/figure.h"
#include "lab/report/statistics.h"
#include "lab/report/table.h"

namespace dsf {

/// What a finished grid says of one method on one model.
struct FeedbackRow {
  std::string model;
  std::string method;
  std::optional<double> rate;            ///< chosen, if there was a choice
  std::map<double, double> tuning;       ///< best validation perplexity of seed 1 by rate
  std::optional<Statistics> validation;  ///< best perplexity
  std::optional<Statistics> test;        ///< of the checkpoint that was best in validation
  std::optional<double> gap;             ///< validation / BPTT's - 1
  std::optional<double> test_gap;
  std::optional<double> step_time;  ///< of a training step, FT-BPTT's being 1
};

/// Test perplexities and step times are measured if they are missing, and kept beside the runs:
/// <run>/test.json, <model>/step_times.json. Nothing is measured after `stop` asks for it.
std::vector<FeedbackRow> feedback_rows(const Reproduction& reproduction,
                                       const std::vector<ModelRuns>& models,
                                       const StopRequest& stop);

Table feedback_table(const std::vector<FeedbackRow>& rows);

/// The same and the perplexity at every learning rate, as JSON text.
std::string feedback_json(const PaperExperiment& experiment, const std::vector<FeedbackRow>& rows);

/// Gap to BPTT against step time, one point per method.
Figure feedback_figure(const std::string& model, const std::vector<FeedbackRow>& rows);

}  // namespace dsf
