#pragma once

// Gradients of every feedback beside BPTT's along a training.

#include <functional>
#include <map>

#include "lab/experiment/gradient_comparison.h"
#include "lab/experiment/gradient_lags.h"
#include "lab/report/figure.h"

namespace dsf {

struct CoursePoint {
  dim_t step = 0;
  std::vector<MethodAgreement> methods;
  std::vector<MethodLags> lags;  ///< if they are asked for
};

/// What to compare, and whether by lag too.
struct CourseOptions {
  GradientComparisonOptions comparison;
  bool lags = false;
};

/// The model as it is after `step` steps.
CoursePoint course_point(const RunConfig& config, const Dataset& data, const LanguageModel& model,
                         const CourseOptions& options, dim_t step);

/// Trains `model` for config.train.steps updates by config.feedback.method, with a new state of the
/// optimiser, and compares gradients before the first update, after every `every` of them and after
/// the last. `on_point` is told of each comparison. Nothing is written.
std::vector<CoursePoint> gradient_course(const RunConfig& config, const Dataset& data,
                                         const CourseOptions& options, dim_t every,
                                         const std::function<void(const CoursePoint&)>& on_point,
                                         LanguageModel& model);

/// Cosine of the recurrent weights' gradient (of the whole one, if there are none): one row per
/// step, one column per method.
Table course_table(const std::vector<CoursePoint>& course);

/// The cosine that stands for a method if there is room for one only: course_table's.
double headline_cosine(const MethodAgreement& method);

/// gradient_course: headline cosine over the steps. gradient_cost: against `costs`, the time of a
/// step with FT-BPTT's being 1, after the last of the steps. gradient_lags_<step>: cosine over the
/// lag, through the whole model. What there is nothing for is left out.
std::vector<NamedFigure> gradient_figures(const std::vector<CoursePoint>& course,
                                          const std::map<std::string, double>& costs);

}  // namespace dsf
