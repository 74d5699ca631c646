#pragma once

// Beyond the paper: the feedbacks of docs/feedback.md on the same models, the learning rate of each
// chosen from the same list.

#include <string>

#include "dsf/experiment/paper_experiments.h"

namespace dsf {

/// quick: Penn Treebank's characters, one layer of 128 units, a thousand steps, for gru, lstm and
/// rnn. full: characters and words of Penn Treebank (one layer of 256 units, words also three),
/// WikiText-2 in the paper's model of three layers of 512 (where `wikitext` names its directory),
/// and recall over gaps of 16, 64, 256 and 1024; on characters and recall the fixed matrices too.
PaperExperiment feedback_experiment(Scale scale, const std::string& wikitext);

}  // namespace dsf
