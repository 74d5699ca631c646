#pragma once

// How close each feedback's gradient comes to BPTT's: cosine and ratio of norms, on batches of
// text.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dsf/data/dataset.h"
#include "dsf/model/language_model.h"
#include "dsf/run/run_config.h"
#include "lab/report/table.h"

namespace dsf {

struct GradientComparisonOptions {
  std::vector<std::string> methods;  ///< names for --feedback; BPTT is computed in any case
  dim_t batches = 4;                 ///< the gradient compared is their mean
  std::string split = "train";
};

/// A gradient beside BPTT's, over one parameter or all.
struct GradientAgreement {
  std::string parameter;  ///< name, or "total"
  double cosine = 0.0;    ///< 0 if one of the two is zero
  double norm_ratio = 0.0;
};

struct MethodAgreement {
  std::string method;
  std::vector<GradientAgreement> parameters;  ///< in the model's order, and the total at the end
  /// All parameters of a block, of the embedding, of the head together; at the end kRecurrentRow.
  std::vector<GradientAgreement> layers = {};
};

/// The recurrent matrices of all blocks together (weight_hh); there if a model has any.
inline constexpr const char* kRecurrentRow = "all weight_hh";
inline constexpr const char* kTotalRow = "total";

/// The agreement of two gradients piece by piece, in double.
class AgreementSum {
 public:
  void add(std::span<const float> gradient, std::span<const float> exact);
  GradientAgreement result(const std::string& name) const;
  double exact_norm() const;

 private:
  double product_ = 0.0;
  double square_ = 0.0;
  double exact_square_ = 0.0;
};

/// Cosine and ratio of norms of `gradient` to `exact`, in double.
GradientAgreement agreement(const std::string& name, std::span<const float> gradient,
                            std::span<const float> exact);

/// The row of this name; nothing if there is none.
std::optional<GradientAgreement> row_named(const std::vector<GradientAgreement>& rows,
                                           const std::string& name);

/// `config`'s feedback by another method.
FeedbackConfig feedback_with(const RunConfig& config, const std::string& method);

/// The batches that a method calibrates itself on before it is what it is; 0 for most.
dim_t warm_up_of(const FeedbackConfig& feedback);

/// The same weights with another feedback. DSF's diagonal comes from the run's seed, as in
/// training.
std::unique_ptr<LanguageModel> with_feedback(const RunConfig& config,
                                             const FeedbackConfig& feedback,
                                             const LanguageModel& model);

/// Gradients of the model of `config` with the weights of `model`, by each method on the same
/// batches. A method that fits its diagonal first sees its calibration's batches, which
/// come before the measured ones. Throws ConfigError on an unknown method.
std::vector<MethodAgreement> compare_gradients(const RunConfig& config, const Dataset& data,
                                               const LanguageModel& model,
                                               const GradientComparisonOptions& options);

/// A row for each parameter and one for the total; two columns for each method.
Table gradient_table(const std::vector<MethodAgreement>& methods);
/// The same with a row for each layer.
Table gradient_layer_table(const std::vector<MethodAgreement>& methods);

}  // namespace dsf
