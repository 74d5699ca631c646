#include "lab/experiment/paper_experiments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "dsf/base/dim.h"
#include "dsf/base/error.h"
#include "dsf/base/nearest_name.h"

namespace dsf {
namespace {

const std::vector<std::string> kAllMethods = {"bptt", "ft", "dsf"};
constexpr dim_t kQuickShrink = 8;

struct Shape {
  std::string mixer;
  dim_t layers;
  dim_t hidden;
  dim_t context;
};

constexpr dim_t kWikiContext = 256;
constexpr dim_t kTreebankContext = 64;
constexpr dim_t kQuickSteps = 1000;
constexpr dim_t kQuickEvaluations = 5;

std::vector<std::string> shape_settings(const Shape& shape, Scale scale, dim_t shrunk_context) {
  const dim_t hidden = scale == Scale::full ? shape.hidden : shape.hidden / kQuickShrink;
  const dim_t context = scale == Scale::full ? shape.context : shrunk_context;
  return {"model.mixer=" + shape.mixer, fmt::format("model.layers={}", shape.layers),
          fmt::format("model.hidden={}", hidden), fmt::format("data.context={}", context)};
}

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// The same tokens for every context, as epochs are at full scale.
std::vector<std::string> quick_wikitext(dim_t context) {
  const dim_t steps = kQuickSteps * kWikiContext / context;
  return {"data.vocab=2000", "train.batch=32", "train.lr=3e-3",
          fmt::format("train.steps={}", steps),
          fmt::format("train.eval_every={}", steps / kQuickEvaluations)};
}

// The appendix's table of hyperparameters, right column.
PaperModel wikitext(const Shape& shape, double x, PaperNumbers paper, Scale scale,
                    std::vector<std::string> methods = kAllMethods) {
  const std::vector<std::string> common = {"data.tokenizer=bpe",      "data.batching=blocks",
                                           "model.block=transformer", "train.lr=1e-3",
                                           "train.weight_decay=0",    "train.schedule=cosine",
                                           "train.warmup=0.1",        "train.floor=0.1"};
  const std::vector<std::string> sized =
      scale == Scale::full
          ? std::vector<std::string>{"data.vocab=16000", "train.batch=128", "train.epochs=5"}
          : quick_wikitext(shape.context);
  std::string name = fmt::format("{}_{}L{}", shape.mixer, shape.layers, shape.hidden);
  if (shape.context != kWikiContext) name += fmt::format("_T{}", shape.context);
  return {.name = std::move(name),
          .x = x,
          .settings = joined(
              joined(shape_settings(shape, scale, shape.context / kQuickShrink), common), sized),
          .methods = std::move(methods),
          .paper = std::move(paper),
          .x_name = shape.mixer};
}

// Left column. Sentences are short: their context is not shrunk.
PaperModel treebank(dim_t layers, dim_t hidden, double x, Scale scale) {
  const Shape shape = {"gru", layers, hidden, kTreebankContext};
  const std::vector<std::string> common = {"data.tokenizer=word",     "data.vocab=10001",
                                           "data.batching=sentences", "model.block=plain",
                                           "train.lr=1e-3",           "train.weight_decay=1e-4",
                                           "train.gamma=0.1"};
  const std::vector<std::string> sized =
      scale == Scale::full
          ? std::vector<std::string>{"train.schedule=step", "train.milestones=[10,20]",
                                     "train.batch=128", "train.epochs=30"}
          : std::vector<std::string>{"train.schedule=constant", "train.batch=32", "train.lr=3e-3",
                                     "train.steps=1000", "train.eval_every=200"};
  const dim_t units = scale == Scale::full ? hidden : hidden / kQuickShrink;
  return {.name = fmt::format("gru_{}L{}", layers, hidden),
          .x = x,
          .settings = joined(joined(shape_settings(shape, scale, kTreebankContext), common), sized),
          .methods = kAllMethods,
          .x_name = fmt::format("{} x {}", layers, units)};
}

// gru_3L512 stands in all WikiText experiments.
const PaperNumbers kGru3L512 = {{{"bptt", 28.32}, {"ft", 46.60}, {"dsf", 31.54}}, 28.2};

PaperExperiment treebank_experiment(Scale scale) {
  return {"ptb",
          "figure 1",
          "Depth and width",
          "layers x units",
          {treebank(1, 256, 1, scale), treebank(3, 256, 2, scale), treebank(1, 1024, 3, scale),
           treebank(3, 1024, 4, scale)},
          true};
}

PaperExperiment width_experiment(Scale scale) {
  PaperExperiment e = {"width", "figure 2", "Width", "hidden units", {}};
  for (const dim_t hidden : {128, 256, 512, 1024}) {
    const PaperNumbers paper = hidden == 512 ? kGru3L512 : PaperNumbers{};
    const dim_t shown = scale == Scale::full ? hidden : hidden / kQuickShrink;
    e.models.push_back(
        wikitext({"gru", 3, hidden, kWikiContext}, static_cast<double>(shown), paper, scale));
  }
  return e;
}

PaperExperiment cells_experiment(Scale scale) {
  return {"cells",
          "figure 3",
          "Recurrent cells",
          "cell",
          {wikitext({"rnn", 3, 512, kWikiContext}, 1, {}, scale),
           wikitext({"gru", 3, 512, kWikiContext}, 2, kGru3L512, scale),
           wikitext({"lstm", 3, 512, kWikiContext}, 3, {}, scale)},
          true};
}

PaperExperiment depth_experiment(Scale scale) {
  const auto gru = [scale](dim_t layers, PaperNumbers paper) {
    return wikitext({"gru", layers, 512, kWikiContext}, static_cast<double>(layers),
                    std::move(paper), scale);
  };
  return {"depth",
          "table 2",
          "Depth",
          "layers",
          {gru(1, {{{"bptt", 35.59}, {"ft", 56.61}, {"dsf", 37.42}}, 20.3}), gru(3, kGru3L512),
           gru(6, {{{"bptt", 25.44}, {"ft", 41.35}, {"dsf", 29.62}}, 40.0}),
           gru(12, {{{"bptt", 23.73}, {"ft", 36.59}, {"dsf", 28.99}}, 63.7})}};
}

PaperExperiment length_experiment(Scale scale) {
  const auto gru = [scale](dim_t context, PaperNumbers paper) {
    const dim_t shown = scale == Scale::full ? context : context / kQuickShrink;
    return wikitext({"gru", 3, 512, context}, static_cast<double>(shown), std::move(paper), scale);
  };
  return {"length",
          "table 3",
          "Context length",
          "context, in tokens",
          {gru(256, kGru3L512), gru(512, {{{"bptt", 27.14}, {"ft", 45.95}, {"dsf", 30.22}}, {}}),
           gru(1024, {{{"bptt", 26.75}, {"ft", 46.75}, {"dsf", 30.17}}, {}}),
           gru(2048, {{{"bptt", 26.52}, {"ft", 46.52}, {"dsf", 30.64}}, {}})}};
}

PaperExperiment architectures_experiment(Scale scale) {
  const std::vector<std::string> exact = {"bptt"};
  return {
      "architectures",
      "table 4",
      "Architectures",
      "mixer",
      {wikitext({"attention", 3, 512, kWikiContext}, 1, {{{"bptt", 24.58}}, 25.9}, scale, exact),
       wikitext({"ema", 3, 512, kWikiContext}, 2, {{{"bptt", 33.19}}, 28.2}, scale, exact),
       wikitext({"gru", 3, 512, kWikiContext}, 3, {{{"bptt", 28.32}, {"dsf", 31.54}}, 28.2}, scale,
                {"bptt", "dsf"})},
      true};
}

struct Entry {
  const char* name;
  PaperExperiment (*make)(Scale);
};
constexpr Entry kEntries[] = {
    {"ptb", treebank_experiment},  {"width", width_experiment},
    {"cells", cells_experiment},   {"depth", depth_experiment},
    {"length", length_experiment}, {"architectures", architectures_experiment},
};

}  // namespace

std::vector<std::string> paper_experiment_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) names.emplace_back(entry.name);
  return names;
}

PaperExperiment paper_experiment(const std::string& name, Scale scale) {
  for (const Entry& entry : kEntries) {
    if (name == entry.name) return entry.make(scale);
  }
  const std::vector<std::string> known = paper_experiment_names();
  throw UsageError(fmt::format("there is no experiment \"{}\"{} (known: {})", name,
                               did_you_mean(name, known), fmt::join(known, ", ")));
}

}  // namespace dsf
