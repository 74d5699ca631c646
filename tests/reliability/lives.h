#pragma once

// Tiny runs of the real program, to be killed, starved and resumed. A run takes a fraction of a
// second, and saves a checkpoint at every second step.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "dsf/base/rng.h"
#include "dsf/run/checkpoint.h"
#include "dsf/run/run_directory.h"
#include "dsf/use/stored_model.h"
#include "tests/support/program.h"
#include "tests/support/temp_directory.h"
#include "tests/train/small_run.h"

namespace dsf {

constexpr int kKilled = 128 + 9;
constexpr useconds_t kMillisecond = 1000;

/// Waits until `done`, for at most 30 seconds.
template <typename Condition>
bool wait_until(Condition&& done) {
  constexpr int kTries = 30000;
  for (int i = 0; i < kTries; ++i) {
    if (done()) return true;
    ::usleep(kMillisecond);
  }
  return false;
}

/// A variable of the environment, for the processes started while it lives.
class ScopedVariable {
 public:
  ScopedVariable(std::string name, const std::string& value) : name_(std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~ScopedVariable() { ::unsetenv(name_.c_str()); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  std::string name_;
};

/// A figure of docs/reliability.md: shown, and added to the file that DSF_FIGURES names, from which
/// scripts/check_long.sh makes a table.
inline void report_figure(const std::string& what, const std::string& figure) {
  fmt::print("{}: {}\n", what, figure);
  if (const char* file = std::getenv("DSF_FIGURES")) {
    std::ofstream(file, std::ios::app) << what << "\t" << figure << "\n";
  }
}

/// What two runs must have in common to be the same.
struct RunResult {
  std::map<std::string, std::string> checkpoints;  ///< every byte
  std::vector<std::string> losses;                 ///< the log's lines, without wall-clock times
  std::vector<dim_t> steps;                        ///< of its train lines
  bool operator==(const RunResult&) const = default;
};

inline RunResult result_of(const std::filesystem::path& run) {
  RunResult result{snapshot(run / "checkpoints"), losses_of(run), {}};
  for (const std::string& line : result.losses) {
    const auto json = nlohmann::json::parse(line);
    if (json["event"] == "train") result.steps.push_back(json["step"].get<dim_t>());
  }
  return result;
}

/// One text, one configuration, as many runs as are asked for.
class Lives {
 public:
  static constexpr dim_t kSteps = 24;

  /// On a file system in memory if there is one: nothing here cuts the power, so that what a
  /// disk does with a sync does not matter, and thousands of checkpoints are written.
  explicit Lives(const std::string& batching, dim_t steps = kSteps)
      : rng_(1, "lives"), batching_(batching), steps_(steps) {
    const char* parent = std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    std::string name = std::string(parent) + "/dsf_lives_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + name);
    root_ = name;
    std::ofstream(root_ / "text.txt") << small_text(60);
  }
  ~Lives() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  Lives(const Lives&) = delete;
  Lives& operator=(const Lives&) = delete;

  Rng& rng() { return rng_; }
  std::filesystem::path fresh() { return root_ / fmt::format("run{}", runs_++); }
  static void discard(const std::filesystem::path& run) { std::filesystem::remove_all(run); }

  /// A copy of a run.
  std::filesystem::path copy_of(const std::filesystem::path& run) {
    std::filesystem::path copy = fresh();
    std::filesystem::copy(
        run, copy,
        std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
    return copy;
  }

  /// The configuration of a new run, as behind --set.
  std::vector<std::string> settings() const {
    return {"data.corpus=" + (root_ / "text.txt").string(),
            "data.batching=" + batching_,
            "data.context=6",
            "data.valid_fraction=0.1",
            "data.test_fraction=0.1",
            "model.hidden=16",
            "train.threads=1",
            "train.batch=4",
            "train.lr=0.01",
            "train.schedule=cosine",
            "train.log_every=1",
            "train.eval_every=6",
            "train.checkpoint_every=2",
            "train.precision=f32",
            "train.steps=" + std::to_string(steps_)};
  }

  /// What one types: a new run, or if `run` is one already, --resume.
  std::vector<std::string> arguments(const std::filesystem::path& run,
                                     const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"train", "--quiet", "--out", run.string()};
    if (is_run_directory(run)) {
      words.emplace_back("--resume");
    } else {
      for (const std::string& set : settings()) words.insert(words.end(), {"--set", set});
    }
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  /// One life to its end.
  ProgramResult live(const std::filesystem::path& run, const std::vector<std::string>& more = {}) {
    return run_dsf(arguments(run, more));
  }
  /// Starts a life; wait_for ends it.
  int start(const std::filesystem::path& run, const std::vector<std::string>& more = {}) {
    return start_dsf(arguments(run, more), (root_ / "log").string());
  }
  std::string last_words() const { return slurp(root_ / "log.err"); }

  /// The run that nobody disturbs, made once.
  const RunResult& undisturbed() {
    if (undisturbed_.steps.empty()) {
      const std::filesystem::path run = fresh();
      const auto begin = std::chrono::steady_clock::now();
      const ProgramResult result = live(run);
      seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      EXPECT_EQ(result.exit_code, 0) << result.err;
      undisturbed_ = result_of(run);
      EXPECT_EQ(undisturbed_.steps.size(), static_cast<std::size_t>(steps_));
    }
    return undisturbed_;
  }
  /// How long it took.
  double seconds() {
    undisturbed();
    return seconds_;
  }

  /// The step of the checkpoint that `last` names, fully checked; -1 if there is no link yet.
  /// Throws CheckpointError if what it names is not whole.
  static dim_t last_checkpoint(const std::filesystem::path& run) {
    const std::filesystem::path last = run / "checkpoints" / "last";
    if (!std::filesystem::exists(std::filesystem::symlink_status(last))) return -1;
    StoredModel stored = open_stored_model(run, "last", 1);
    TrainingState state;
    load_checkpoint(last, state, *stored.model);
    return state.step;
  }

 private:
  std::filesystem::path root_;
  Rng rng_;
  std::string batching_;
  dim_t steps_;
  int runs_ = 0;
  RunResult undisturbed_;
  double seconds_ = 0.0;
};

}  // namespace dsf
