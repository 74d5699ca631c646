#include "lab/experiment/feedback_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "dsf/base/file.h"
#include "dsf/base/hash.h"
#include "dsf/base/log.h"
#include "dsf/base/loss_units.h"
#include "dsf/feedback/feedback_method.h"
#include "dsf/run/run_directory.h"
#include "dsf/use/evaluation.h"
#include "dsf/use/stored_model.h"
#include "lab/experiment/step_time.h"

namespace dsf {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kPerplexity = "perplexity";
constexpr const char* kOf = "of";  // the checkpoint, by the hash of its state.json

/// Of the run's best checkpoint; nothing if the corpus has no test split.
std::optional<double> measure_test_perplexity(const fs::path& root, dim_t threads) {
  StoredModel stored = open_stored_model(root, "best", threads);
  const Dataset data = load_dataset_of(root, stored);
  if (data.test.tokens.empty()) return std::nullopt;
  const LossSum sum =
      evaluate_split(data.test, stored.config, data.tokenizer->bos(), *stored.model);
  return perplexity_of(sum.mean());
}

/// What names it in test.json; empty if somebody has removed it to save room, and what was
/// measured of it counts.
std::string best_checkpoint(const fs::path& root) {
  const fs::path state = RunPaths{root}.checkpoints() / "best" / "state.json";
  return fs::exists(state) ? to_hex(hash_bytes(read_file(state))) : "";
}

std::optional<double> test_perplexity(const fs::path& root, dim_t threads,
                                      const StopRequest& stop) {
  const fs::path file = root / "test.json";
  const std::string checkpoint = best_checkpoint(root);
  if (fs::exists(file)) {
    const json stored = json::parse(read_file(file), nullptr, false);
    if (stored.is_object() && (checkpoint.empty() || stored.value(kOf, json()) == checkpoint) &&
        stored.value(kPerplexity, json()).is_number()) {
      return stored[kPerplexity].get<double>();
    }
  }
  if (stop() != 0) return std::nullopt;
  log_info(fmt::format("test perplexity of {}", root.string()));
  const auto measured = measure_test_perplexity(root, threads);
  if (measured) replace_file(file, json{{kPerplexity, *measured}, {kOf, checkpoint}}.dump() + "\n");
  return measured;
}

std::optional<double> gap(const std::optional<Statistics>& own,
                          const std::optional<Statistics>& exact) {
  return own && exact ? std::optional(own->mean / exact->mean - 1.0) : std::nullopt;
}

std::string percent(const std::optional<double>& value) {
  return value ? fmt::format("{:+.1f} %", 100.0 * *value) : "-";
}

ordered_json statistics_json(const std::optional<Statistics>& value) {
  if (!value) return {};
  return {{"mean", value->mean},
          {"deviation", value->deviation},
          {"runs", value->count},
          {"seeds", value->wanted}};
}

/// The rows of one model.
std::vector<FeedbackRow> rows_of(const Reproduction& reproduction, const ModelRuns& model,
                                 const StopRequest& stop) {
  RunConfig config = with_assignments(RunConfig(), settings_of(reproduction, model.model));
  resolve(config);
  const auto times = relative_step_times(
      config, model.model.methods, reproduction.out / model.model.name / "step_times.json", stop);
  std::vector<FeedbackRow> rows;
  FeedbackRow exact;
  for (const MethodRuns& runs : model.methods) {
    FeedbackRow row;
    row.model = model.model.name;
    row.method = runs.method;
    row.rate = runs.rate;
    row.tuning = runs.tuning;
    row.validation = model.perplexity(runs.method);
    std::vector<double> tests;
    for (const RunRecord& run : runs.runs) {
      const auto test = test_perplexity(run.root, config.train.threads, stop);
      if (test) tests.push_back(*test);
    }
    row.test = statistics_of(tests, runs.seeds);
    if (times.contains(runs.method)) row.step_time = times.at(runs.method);
    if (runs.method == "bptt") exact = row;
    rows.push_back(std::move(row));
  }
  for (FeedbackRow& row : rows) {
    row.gap = gap(row.validation, exact.validation);
    row.test_gap = gap(row.test, exact.test);
  }
  return rows;
}

}  // namespace

std::vector<FeedbackRow> feedback_rows(const Reproduction& reproduction,
                                       const std::vector<ModelRuns>& models,
                                       const StopRequest& stop) {
  std::vector<FeedbackRow> all;
  for (const ModelRuns& model : models) {
    for (FeedbackRow& row : rows_of(reproduction, model, stop)) all.push_back(std::move(row));
  }
  return all;
}

Table feedback_table(const std::vector<FeedbackRow>& rows) {
  Table table({"model", "method", "learning rate", "validation", "to BPTT", "test", "to BPTT",
               "step time / FT"});
  for (const FeedbackRow& row : rows) {
    table.add_row({row.model, feedback_title(row.method),
                   row.rate ? fmt::format("{}", *row.rate) : "-", cell(row.validation),
                   percent(row.gap), cell(row.test), percent(row.test_gap),
                   cell(row.step_time, 2)});
  }
  return table;
}

std::string feedback_json(const PaperExperiment& experiment, const std::vector<FeedbackRow>& rows) {
  ordered_json report = {{"experiment", experiment.name},
                         {"title", experiment.title},
                         {"rows", ordered_json::array()}};
  for (const FeedbackRow& row : rows) {
    ordered_json tuning = ordered_json::array();
    for (const auto& [rate, perplexity] : row.tuning) {
      tuning.push_back({{"rate", rate}, {"perplexity", perplexity}});
    }
    report["rows"].push_back({{"model", row.model},
                              {"method", row.method},
                              {"rate", or_null(row.rate)},
                              {"tuning", std::move(tuning)},
                              {"validation", statistics_json(row.validation)},
                              {"gap_to_bptt", or_null(row.gap)},
                              {"test", statistics_json(row.test)},
                              {"test_gap_to_bptt", or_null(row.test_gap)},
                              {"step_time_to_ft", or_null(row.step_time)}});
  }
  return report.dump(2) + "\n";
}

Figure feedback_figure(const std::string& model, const std::vector<FeedbackRow>& rows) {
  Figure figure{.title = model,
                .x_label = "time of a training step, FT-BPTT = 1",
                .y_label = "validation perplexity above BPTT's, %",
                .points_only = true};
  for (const FeedbackRow& row : rows) {
    if (row.model != model || !row.gap || !row.step_time) continue;
    figure.curves.push_back(
        {feedback_title(row.method), row.method, {*row.step_time}, {100.0 * *row.gap}});
  }
  return figure;
}

}  // namespace dsf
