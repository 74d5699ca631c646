#pragma once

// `dsf eval` without the command line: the loss of a trained model on a split of its corpus or on any text.

#include <optional>
#include <string>

#include "dsf/use/evaluation.h"
#include "dsf/use/stored_model.h"

namespace dsf {

/// What is to be evaluated.
struct EvaluationRequest {
  std::string split = "valid";  ///< train, valid or test
  std::string corpus;  ///< the run's corpus, if it has moved since training; empty: as it was
  std::string file;    ///< a text file to take instead of a split; empty: none
  std::optional<std::string> text;  ///< a text to take instead of a split
  bool stream = false;  ///< one state through the whole text, instead of zero at each sequence

  /// For people.
  std::string subject() const { return text ? "text" : file.empty() ? split : file; }
};

/// Sets the configuration of `stored` to what the request asks for and loads the text, in the run's tokens.
/// Warns if long lines are cut. Throws UsageError for a stream through a model that carries no state, and
/// what load_dataset throws.
Split prepare_evaluation(const std::filesystem::path& run, const EvaluationRequest& request,
                         StoredModel& stored);

/// The object that `dsf eval --json` prints. `run` and `subject` are its first two entries.
std::string to_json(const EvaluationReport& report, const std::string& run,
                    const std::string& subject, const StoredModel& stored);

}  // namespace dsf
