#pragma once

// Gradients of every feedback beside BPTT's along a training.

#include <functional>
#include <map>

#include "dsf/experiment/gradient_comparison.h"
#include "dsf/experiment/gradient_lags.h"
#include "dsf/experiment/run_record.h"

namespace dsf {

struct CoursePoint {
  dim_t step = 0;
  std::vector<MethodAgreement> methods;
};

/// Trains `model` for config.train.steps updates by config.feedback.method, with a new state of the
/// optimiser, and compares gradients before the first update, after every `every` of them and after
/// the last. `on_point` is told of each comparison. Nothing is written.
std::vector<CoursePoint> gradient_course(const RunConfig& config, const Dataset& data,
                                         const GradientComparisonOptions& options, dim_t every,
                                         const std::function<void(const CoursePoint&)>& on_point,
                                         LanguageModel& model);

/// Cosine of the recurrent weights' gradient (of the whole one, where there are none): a row a
/// step, a column a method.
Table course_table(const std::vector<CoursePoint>& course);

/// The cosine that stands for a method where there is room for one only: course_table's.
double headline_cosine(const MethodAgreement& method);

/// gradient_course: headline cosine over the steps. gradient_cost: against `costs`, the time of a
/// step with FT-BPTT's being 1. gradient_lags: cosine over the lag, through the whole model. What
/// there is nothing for is left out.
std::vector<NamedFigure> gradient_figures(const std::vector<CoursePoint>& course,
                                          const std::map<std::string, double>& costs,
                                          const std::vector<MethodLags>& lags);

}  // namespace dsf
