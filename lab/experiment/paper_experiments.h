#pragma once

// The paper's experiments as data: which models, trained how, and the numbers printed for them.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dsf {

/// What the paper states of a model.
struct PaperNumbers {
  std::map<std::string, double> perplexities = {};  ///< of validation, by method
  std::optional<double> parameters = {};            ///< in millions
};

/// A model of an experiment, trained by each of `methods`.
struct PaperModel {
  std::string name;                   ///< "gru_3L512": of its directory, at full size
  double x = 0.0;                     ///< where it stands in the experiment's figure
  std::vector<std::string> settings;  ///< "section.key=value"
  std::vector<std::string> methods;   ///< feedback.method of its runs
  PaperNumbers paper = {};
  std::vector<double> rates = {};  ///< train.lr to choose from; empty: the settings' own
  std::string corpus = {};         ///< in place of the grid's, if it is not empty
  std::string x_name = {};         ///< on the figure's x axis, if that has no numbers
};

struct PaperExperiment {
  std::string name;     ///< "depth"
  std::string source;   ///< "table 2"
  std::string title;    ///< "Depth"
  std::string x_label;  ///< of the figure
  std::vector<PaperModel> models;
  bool has_named_axis = false;  ///< x_names in place of numbers
};

/// full: the paper's own settings. quick: an eighth of the width, batches of 32, a rate of 3e-3, a
/// thousand steps; on WikiText also an eighth of the context and 2,000 pieces, and the models of a
/// longer context take fewer steps, over as many tokens.
enum class Scale { quick, full };

std::vector<std::string> paper_experiment_names();

/// Throws UsageError, with the nearest known name, if there is none of this name.
PaperExperiment paper_experiment(const std::string& name, Scale scale);

}  // namespace dsf
