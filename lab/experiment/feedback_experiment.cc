#include "lab/experiment/feedback_experiment.h"

#include <fmt/format.h>

#include <utility>

#include "dsf/base/dim.h"

namespace dsf {
namespace {

using Settings = std::vector<std::string>;

// Those of the table that follow the cell, and a second correction.
const Settings kMethods = {"bptt",      "ft",         "dsf",        "bptt:rank", "gated",
                           "gated:dsf", "iterated:1", "iterated:2", "adaptive"};
// Fixed matrices, which the cell has no part in: at full scale, on the models that train quickest.
const Settings kFixedMatrices = {"pairs", "lowrank:4", "dense", "orthogonal"};
const Settings kCells = {"gru", "lstm", "rnn"};

Settings joined(Settings first, const Settings& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

PaperModel model_of(std::string name, dim_t hidden, Settings settings, std::vector<double> rates,
                    const Settings& further_methods = {}) {
  settings.push_back(fmt::format("model.hidden={}", hidden));
  return {.name = std::move(name),
          .settings = std::move(settings),
          .methods = joined(kMethods, further_methods),
          .rates = std::move(rates)};
}

// Gradients of the plain rnn grow now and then: all methods are clipped alike.
PaperModel characters(const std::string& cell, Scale scale) {
  const Settings common = {"model.mixer=" + cell,   "data.tokenizer=char", "data.batching=blocks",
                           "data.context=64",       "model.layers=1",      "train.clip=1",
                           "train.schedule=cosine", "train.warmup=0.1"};
  if (scale == Scale::quick) {
    return model_of("char_" + cell + "_1L128", 128,
                    joined(common, {"train.batch=32", "train.steps=1000", "train.eval_every=500"}),
                    {3e-3, 1e-2});
  }
  return model_of("char_" + cell + "_1L256", 256,
                  joined(common, {"train.batch=64", "train.epochs=5"}), {1e-3, 3e-3, 1e-2},
                  kFixedMatrices);
}

// configs/ptb, for every cell; quick: a quarter of the width, a fifth of the words, two million
// tokens.
PaperModel words(const std::string& cell, dim_t layers, Scale scale) {
  const Settings common = {"model.mixer=" + cell, fmt::format("model.layers={}", layers),
                           "data.tokenizer=word", "data.batching=sentences",
                           "data.context=64",     "train.weight_decay=1e-4"};
  if (scale == Scale::quick) {
    return model_of(fmt::format("word_{}_{}L64", cell, layers), 64,
                    joined(common, {"data.vocab=2000", "train.batch=64", "train.steps=1500",
                                    "train.eval_every=500", "train.clip=1", "train.schedule=cosine",
                                    "train.warmup=0.1"}),
                    {3e-3, 1e-2});
  }
  return model_of(
      fmt::format("word_{}_{}L256", cell, layers), 256,
      joined(common, {"data.vocab=10001", "train.batch=128", "train.epochs=30",
                      "train.schedule=step", "train.milestones=[10,20]", "train.gamma=0.1"}),
      {3e-4, 1e-3, 3e-3});
}

// configs/wikitext-103/*_3L512 on the smaller text; quick: an eighth of the width, a quarter of the
// context, and two million tokens.
PaperModel pieces(const std::string& cell, Scale scale, const std::string& wikitext) {
  const Settings common = {"model.mixer=" + cell, "model.layers=3",       "model.block=transformer",
                           "data.tokenizer=bpe",  "data.batching=blocks", "train.schedule=cosine",
                           "train.warmup=0.1",    "train.floor=0.1"};
  PaperModel model =
      scale == Scale::quick
          ? model_of("wikitext_" + cell + "_3L64", 64,
                     joined(common, {"data.vocab=2000", "data.context=64", "train.batch=32",
                                     "train.steps=1000", "train.eval_every=500"}),
                     {3e-3, 1e-2})
          : model_of("wikitext_" + cell + "_3L512", 512,
                     joined(common, {"data.vocab=16000", "data.context=256", "train.batch=128",
                                     "train.epochs=5"}),
                     {3e-4, 1e-3, 3e-3});
  model.corpus = wikitext;
  return model;
}

PaperModel recall(dim_t gap) {
  PaperModel model = model_of(fmt::format("recall_{}", gap), 64,
                              {"model.mixer=gru", fmt::format("data.context={}", gap + 4),
                               "train.batch=64", "train.steps=4000", "train.eval_every=1000"},
                              {3e-3, 5e-3, 1e-2}, kFixedMatrices);
  model.corpus = fmt::format("synthetic:recall:gap={0},min_gap={0}", gap);
  return model;
}

}  // namespace

PaperExperiment feedback_experiment(Scale scale, const std::string& wikitext) {
  PaperExperiment experiment = {"feedback", "beyond", "Feedback methods", "", {}};
  auto& models = experiment.models;
  for (const std::string& cell : kCells) models.push_back(characters(cell, scale));
  const std::vector<dim_t> depths =
      scale == Scale::full ? std::vector<dim_t>{1, 3} : std::vector<dim_t>{3};
  for (const dim_t layers : depths) {
    for (const std::string& cell : kCells) models.push_back(words(cell, layers, scale));
  }
  if (scale == Scale::full) {
    for (const dim_t gap : {16, 64, 256, 1024}) models.push_back(recall(gap));
  }
  if (wikitext.empty()) return experiment;
  for (const std::string& cell : kCells) models.push_back(pieces(cell, scale, wikitext));
  return experiment;
}

}  // namespace dsf
