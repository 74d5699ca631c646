#pragma once

// Runs of a few seconds of the real program under mpirun.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/ranks.h"
#include "tests/support/small_text.h"
#include "tests/support/temp_directory.h"

namespace dsf {

using Words = std::vector<std::string>;

/// A directory with a text of its own and its runs.
class ParallelRuns : public ::testing::Test {
 protected:
  ParallelRuns() {
    // 81 sentences in batches of 8: the last batch of an epoch has one, so most ranks have none.
    directory_.write("text.txt", small_text(81));
    directory_.write("valid.txt", small_text(30, 8));
  }

  std::string path(std::string_view name) const { return directory_ / name; }

  Words train(const std::string& run, const Words& settings, const Words& more = {}) const {
    Words words = {"train",
                   "--data",
                   path("text.txt"),
                   "--valid",
                   path("valid.txt"),
                   "--test",
                   path("valid.txt"),
                   "--out",
                   path(run),
                   "--threads",
                   "1",
                   "--precision",
                   "f32"};
    Words all = {"data.context=6", "model.hidden=12", "model.layers=2",    "train.batch=8",
                 "train.lr=0.01",  "train.clip=1",    "train.log_every=1", "train.eval_every=20"};
    all.insert(all.end(), settings.begin(), settings.end());
    for (const std::string& setting : all) {
      words.emplace_back("--set");
      words.push_back(setting);
    }
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  void train_on(int ranks, const std::string& run, const Words& settings,
                const Words& more = {}) const {
    const ProgramResult result = run_dsf_on_ranks(ranks, train(run, settings, more));
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  }

  std::vector<nlohmann::json> log_of(const std::string& run) const {
    std::vector<nlohmann::json> lines;
    std::istringstream in(slurp(directory_ / run / "log.jsonl"));
    for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

  /// Losses of the train and eval lines, in order.
  std::vector<double> losses_of(const std::string& run) const {
    std::vector<double> losses;
    for (const nlohmann::json& line : log_of(run)) {
      if (line["event"] == "train" || line["event"] == "eval") losses.push_back(line["loss"]);
    }
    return losses;
  }

  TempDirectory directory_;
};

}  // namespace dsf
