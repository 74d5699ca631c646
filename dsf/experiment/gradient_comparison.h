#pragma once

// How close each feedback's gradient comes to BPTT's: cosine and ratio of norms, on batches of
// text.

#include <span>
#include <string>
#include <vector>

#include "dsf/data/dataset.h"
#include "dsf/experiment/table.h"
#include "dsf/model/language_model.h"
#include "dsf/train/run_config.h"

namespace dsf {

struct GradientComparisonOptions {
  std::vector<std::string> methods;  ///< names for --feedback; BPTT is computed in any case
  dim_t batches = 4;                 ///< the gradient compared is their mean
  std::string split = "train";
};

/// A gradient beside BPTT's, over one parameter or all.
struct GradientAgreement {
  std::string parameter;  ///< name, or "total"
  double cosine = 0.0;    ///< 0 where one of the two is zero
  double norm_ratio = 0.0;
};

struct MethodAgreement {
  std::string method;
  std::vector<GradientAgreement> parameters;  ///< in the model's order, and the total at the end
};

/// Cosine and ratio of norms of `gradient` to `exact`, in double.
GradientAgreement agreement(const std::string& name, std::span<const float> gradient,
                            std::span<const float> exact);

/// Gradients of the model of `config` with the weights of `model`, by each method on the same
/// batches. A method that fits its diagonal first sees its calibration's batches, which
/// come before the measured ones. Throws ConfigError on an unknown method.
std::vector<MethodAgreement> compare_gradients(const RunConfig& config, const Dataset& data,
                                               const LanguageModel& model,
                                               const GradientComparisonOptions& options);

/// A row for each parameter and one for the total; two columns for each method.
Table gradient_table(const std::vector<MethodAgreement>& methods);

}  // namespace dsf
