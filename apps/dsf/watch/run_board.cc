#include "apps/dsf/watch/run_board.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "dsf/base/error.h"
#include "dsf/base/error_text.h"
#include "dsf/base/log.h"
#include "dsf/feedback/feedback_method.h"
#include "dsf/run/config_fields.h"
#include "dsf/run/run_directory.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::chrono::seconds kSearchInterval(2);  // a directory tree is not walked on every poll

/// Values of the points from `from` on, as one JSON array.
template <typename Point>
ordered_json column(const std::vector<Point>& points, dim_t from, double Point::*value) {
  ordered_json values = ordered_json::array();
  const dim_t end = std::min(static_cast<dim_t>(points.size()), from + RunBoard::kMostPoints);
  for (dim_t i = from; i < end; ++i) values.push_back(points[static_cast<std::size_t>(i)].*value);
  return values;
}

/// A page that knows more than there is knows another run's points: it gets none.
template <typename Point>
dim_t first_new(const std::vector<Point>& points, dim_t known) {
  return std::clamp<dim_t>(known, 0, static_cast<dim_t>(points.size()));
}

ordered_json summary_of(const std::string& name, const RunFollower& follower) {
  const RunRecord& run = follower.record();
  const ModelConfig& model = run.config.model;
  std::error_code ignored;  // what may not be looked into cannot be used either
  const bool has_model = fs::exists(RunPaths{run.root}.checkpoints() / "last", ignored);
  return {{"name", name},
          {"state", run.state},
          {"method", feedback_title(run.config.feedback.method)},
          {"model", fmt::format("{} {}×{}", name_of(model.mixer), model.layers, model.hidden)},
          {"parameters", run.parameters},
          {"step", run.step},
          {"total_steps", run.total_steps},
          {"best_perplexity",
           run.best_perplexity ? ordered_json(*run.best_perplexity) : ordered_json()},
          {"tokens_per_second", run.tokens_per_second},
          {"seconds", run.seconds},
          {"can_generate", has_model},
          {"generation", follower.generation()},
          {"training", run.training.size()},
          {"evaluations", run.evaluations.size()}};
}

}  // namespace

RunBoard::RunBoard(fs::path directory) : directory_(std::move(directory)) { find(); }

void RunBoard::find() {
  std::set<std::string> found;
  for (const fs::path& root : find_runs(directory_)) {
    const std::string name = root.lexically_relative(directory_).generic_string();
    found.insert(name);
    if (!followers_.contains(name)) followers_[name] = std::make_unique<RunFollower>(root);
  }
  std::erase_if(followers_, [&found](const auto& entry) { return !found.contains(entry.first); });
  searched_ = std::chrono::steady_clock::now();
}

void RunBoard::refresh() {
  if (std::chrono::steady_clock::now() - searched_ > kSearchInterval) find();
  for (auto entry = followers_.begin(); entry != followers_.end();) {
    try {
      entry->second->refresh();
      ++entry;
    } catch (const std::exception& error) {
      // It is being replaced, or damaged: the others are still to be seen.
      const std::string said = fmt::format(
          "{} is left out: {}", entry->second->record().root.string(), error_text(error));
      if (complaints_.insert(said).second) log_warning(said);
      entry = followers_.erase(entry);
    }
  }
}

RunFollower& RunBoard::follower(const std::string& run) {
  const auto found = followers_.find(run);
  if (found == followers_.end()) throw UsageError(fmt::format("there is no run \"{}\"", run));
  return *found->second;
}

ordered_json RunBoard::runs() {
  const std::lock_guard lock(mutex_);
  refresh();
  ordered_json list = ordered_json::array();
  for (const auto& [name, follower] : followers_) list.push_back(summary_of(name, *follower));
  return {{"directory", directory_.string()}, {"runs", std::move(list)}};
}

ordered_json RunBoard::points(const std::string& run, const PointsKnown& known) {
  const std::lock_guard lock(mutex_);
  const RunFollower& followed = follower(run);
  const RunRecord& record = followed.record();
  const bool same = known.generation == followed.generation();
  const dim_t training = first_new(record.training, same ? known.training : 0);
  const dim_t evaluations = first_new(record.evaluations, same ? known.evaluations : 0);
  return {
      {"generation", followed.generation()},
      {"training",
       {{"from", training},
        {"step", column(record.training, training, &TrainPoint::step)},
        {"loss", column(record.training, training, &TrainPoint::loss)},
        {"learning_rate", column(record.training, training, &TrainPoint::learning_rate)},
        {"gradient_norm", column(record.training, training, &TrainPoint::gradient_norm)},
        {"tokens_per_second", column(record.training, training, &TrainPoint::tokens_per_second)}}},
      {"evaluations",
       {{"from", evaluations},
        {"step", column(record.evaluations, evaluations, &EvalPoint::step)},
        {"perplexity", column(record.evaluations, evaluations, &EvalPoint::perplexity)}}}};
}

ordered_json RunBoard::configs() {
  const std::lock_guard lock(mutex_);
  ordered_json keys = ordered_json::array();
  for (const Field& field : config_fields()) keys.push_back(field.name());
  ordered_json values = ordered_json::object();
  for (const auto& [name, follower] : followers_) {
    ordered_json row = ordered_json::array();
    for (const Field& field : config_fields()) {
      row.push_back(to_toml(get(field, follower->record().config)));
    }
    values[name] = std::move(row);
  }
  return {{"keys", std::move(keys)}, {"runs", std::move(values)}};
}

fs::path RunBoard::root_of(const std::string& run) {
  const std::lock_guard lock(mutex_);
  return follower(run).record().root;
}

}  // namespace dsf
