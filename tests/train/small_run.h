#pragma once

// Runs of a few seconds on a few lines of text, for tests.

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "dsf/train/training_run.h"
#include "tests/support/small_text.h"
#include "tests/support/temp_directory.h"

namespace dsf {

/// The settings of a small run on `corpus`, then `more`, which win.
inline std::vector<Assignment> small_settings(const std::filesystem::path& corpus,
                                              const std::vector<std::string>& more) {
  std::vector<std::string> all = {"data.corpus=" + corpus.string(),
                                  "data.valid_fraction=0.1",
                                  "data.test_fraction=0.1",
                                  "data.context=6",
                                  "model.hidden=12",
                                  "model.layers=2",
                                  "train.batch=8",
                                  "train.lr=0.01",
                                  "train.log_every=3",
                                  "train.eval_every=8",
                                  "train.precision=f32"};
  all.insert(all.end(), more.begin(), more.end());
  return parse_assignments(all);
}

/// Trains into `out`; stops with a signal after `stop_at` steps, if that is not 0.
inline RunSummary small_run(const std::filesystem::path& out, std::vector<Assignment> settings,
                            bool resume = false, dim_t stop_at = 0) {
  class StepCounter : public TrainObserver {
   public:
    void on_step(const TrainReport& report) override { step = report.step; }
    dim_t step = 0;
  };
  StepCounter counter;
  constexpr int kSignal = 15;
  return run_training({out, std::move(settings), resume, false}, counter,
                      [&] { return stop_at > 0 && counter.step >= stop_at ? kSignal : 0; });
}

/// The train and eval lines of a log without their wall-clock values.
inline std::vector<std::string> losses_of(const std::filesystem::path& run) {
  std::vector<std::string> lines;
  std::istringstream in(slurp(run / "log.jsonl"));
  for (std::string line; std::getline(in, line);) {
    const nlohmann::ordered_json json = nlohmann::ordered_json::parse(line);
    if (json["event"] != "train" && json["event"] != "eval") continue;
    nlohmann::ordered_json kept;
    for (const auto& [key, value] : json.items()) {
      if (!key.ends_with("seconds") && !key.ends_with("per_second")) kept[key] = value;
    }
    lines.push_back(kept.dump());
  }
  return lines;
}

}  // namespace dsf
