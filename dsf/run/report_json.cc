#include "dsf/run/report_json.h"

#include <nlohmann/json.hpp>

#include "dsf/base/loss_units.h"
#include "dsf/base/process_memory.h"
#include "dsf/base/version.h"

namespace dsf {
namespace {

using nlohmann::ordered_json;

ordered_json or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

void add_phases(const PhaseTimes& phases, ordered_json& json) {
  json["forward_seconds"] = phases.forward;
  json["head_seconds"] = phases.head;
  json["backward_seconds"] = phases.backward;
}

}  // namespace

std::string to_json(const StartReport& report) {
  const ordered_json json = {{"event", report.resumed ? "resume" : "start"},
                             {"step", report.step},
                             {"total_steps", report.total_steps},
                             {"steps_per_epoch", report.steps_per_epoch},
                             {"parameters", report.parameters},
                             {"vocab", report.vocab},
                             {"feedback", report.feedback},
                             {"precision", report.precision},
                             {"threads", report.threads},
                             {"ranks", report.ranks},
                             {"version", version()},
                             {"commit", git_commit()}};
  return json.dump();
}

std::string to_json(const TrainReport& report) {
  ordered_json json = {{"event", "train"},
                       {"step", report.step},
                       {"epoch", report.epoch},
                       {"loss", report.loss},
                       {"perplexity", perplexity_of(report.loss)},
                       {"learning_rate", report.learning_rate},
                       {"gradient_norm", report.gradient_norm},
                       {"tokens", report.tokens},
                       {"tokens_per_second", report.tokens_per_second},
                       {"seconds", report.seconds},
                       {"step_seconds", report.step_seconds}};
  add_phases(report.phases, json);
  json["update_seconds"] = report.update_seconds;
  return json.dump();
}

std::string to_json(const EvalReport& report) {
  const ordered_json json = {{"event", "eval"},
                             {"step", report.step},
                             {"epoch", report.epoch},
                             {"split", report.split},
                             {"loss", report.loss},
                             {"perplexity", report.perplexity},
                             {"accuracy", report.accuracy},
                             {"tokens", report.tokens},
                             {"train_loss", report.train_loss},
                             {"best", report.best},
                             {"seconds", report.seconds},
                             {"eval_seconds", report.eval_seconds}};
  return json.dump();
}

std::string to_json(const RunSummary& summary) {
  ordered_json json = {{"event", summary.interrupted ? "interrupted" : "done"},
                       {"best_perplexity", or_null(summary.best_perplexity)},
                       {"best_loss", or_null(summary.best_loss)},
                       {"best_step", summary.best_step},
                       {"steps", summary.steps},
                       {"epoch", summary.epoch},
                       {"tokens", summary.tokens},
                       {"parameters", summary.parameters},
                       {"unknown_rate", summary.unknown_rate},
                       {"tokens_per_second", summary.tokens_per_second},
                       {"seconds", summary.seconds},
                       {"peak_mb", peak_resident_bytes() / 1e6}};
  add_phases(summary.phases, json);
  return json.dump();
}

}  // namespace dsf
