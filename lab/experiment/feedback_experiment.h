#pragma once

// Beyond the paper: the feedbacks of docs/feedback.md on the same models, the learning rate of each
// chosen from the same list.

#include <string>

#include "lab/experiment/paper_experiments.h"

namespace dsf {

/// quick: Penn Treebank's characters, one layer of 128 units, and WikiText-2's pieces, three
/// transformer-like layers of 64, a thousand steps each, for gru, lstm and rnn. full: characters
/// and words of Penn Treebank (one layer of 256 units, words also three), WikiText-2 in the paper's
/// model of three layers of 512, and recall over gaps of 16, 64, 256 and 1024; on characters and
/// recall the fixed matrices too. WikiText-2 only if `wikitext` names its directory.
PaperExperiment feedback_experiment(Scale scale, const std::string& wikitext);

}  // namespace dsf
