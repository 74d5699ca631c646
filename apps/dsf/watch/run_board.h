#pragma once

// The runs below one directory, as the watch page is told of them: JSON, read on incrementally.
// Requests name runs; a name is only ever looked up in the list of what was found.

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "lab/experiment/run_follower.h"

namespace dsf {

/// What a page already has of a run.
struct PointsKnown {
  dim_t generation = 0;
  dim_t training = 0;     ///< points of the log
  dim_t evaluations = 0;  ///< points of evaluations
};

/// May be asked by several threads at a time.
class RunBoard {
 public:
  /// Throws UsageError if `directory` is not a directory, IoError if it cannot be read.
  explicit RunBoard(std::filesystem::path directory);

  /// {"directory", "runs": [{"name", "state", "method", ..., "generation", "training",
  /// "evaluations"}]}; the last two are numbers of points, for points() to catch up with.
  nlohmann::ordered_json runs();

  /// Points that come after the known ones, column by column, at most kMostPoints of each kind. All
  /// from the first if the generation has changed. Throws UsageError for an unknown run.
  nlohmann::ordered_json points(const std::string& run, const PointsKnown& known);

  /// {"keys": [...], "runs": {name: [values in the order of the keys]}}
  nlohmann::ordered_json configs();

  /// Throws UsageError for an unknown run.
  std::filesystem::path root_of(const std::string& run);

  static constexpr dim_t kMostPoints = 5000;

 private:
  void find();
  void refresh();
  RunFollower& follower(const std::string& run);

  std::mutex mutex_;
  std::filesystem::path directory_;
  std::map<std::string, std::unique_ptr<RunFollower>> followers_;  // by name
  std::chrono::steady_clock::time_point searched_;
  std::set<std::string> complaints_;  // each is made once
};

}  // namespace dsf
