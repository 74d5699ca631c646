#include "dsf/run/run_log.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dsf/base/loss_units.h"
#include "dsf/run/report_json.h"

namespace dsf {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kMetricsHeader =
    "step,epoch,train_loss,valid_loss,valid_perplexity,learning_rate,tokens_per_second,seconds\n";

std::string line_of(const ordered_json& json) { return json.dump() + "\n"; }

struct KeptLog {
  std::string text;
  double seconds = 0.0;
};

KeptLog kept_log(const std::string& text, dim_t step) {
  KeptLog kept;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    try {
      const ordered_json json = ordered_json::parse(line);
      if (json.value("event", "") == "done" || json.value("step", dim_t{0}) > step) continue;
      kept.seconds = json.value("seconds", kept.seconds);
      kept.text += line + "\n";
    } catch (const ordered_json::exception&) {
      continue;  // a line that a crash tore, or that is not ours
    }
  }
  return kept;
}

// Lines of metrics.csv begin with their step.
std::string kept_metrics(const std::string& text, dim_t step) {
  std::string kept(kMetricsHeader);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    char* end = nullptr;
    const long long at = std::strtoll(line.c_str(), &end, 10);
    if (end != line.c_str() && *end == ',' && at <= step &&
        std::count(line.begin(), line.end(), ',') == 7) {
      kept += line + "\n";
    }
  }
  return kept;
}

}  // namespace

std::string last_event(const std::filesystem::path& log) {
  std::string event;
  if (!std::filesystem::exists(log)) return event;
  std::istringstream lines(read_file(log));
  for (std::string line; std::getline(lines, line);) {
    const ordered_json json = ordered_json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("event") && json["event"].is_string()) {
      event = json["event"].get<std::string>();
    }
  }
  return event;
}

RunLog::RunLog(const std::filesystem::path& log, const std::filesystem::path& metrics,
               double seconds_before)
    : log_(log), metrics_(metrics), seconds_before_(seconds_before) {}

std::unique_ptr<RunLog> RunLog::silent() {
  return std::unique_ptr<RunLog>(new RunLog("/dev/null", "/dev/null", 0.0));
}

std::unique_ptr<RunLog> RunLog::create(const RunPaths& paths) {
  replace_file(paths.log(), "");
  replace_file(paths.metrics(), kMetricsHeader);
  return std::unique_ptr<RunLog>(new RunLog(paths.log(), paths.metrics(), 0.0));
}

std::unique_ptr<RunLog> RunLog::reopen(const RunPaths& paths, dim_t step) {
  const KeptLog kept = kept_log(read_file(paths.log()), step);
  replace_file(paths.log(), kept.text);
  const bool measured = std::filesystem::exists(paths.metrics());
  replace_file(paths.metrics(), kept_metrics(measured ? read_file(paths.metrics()) : "", step));
  return std::unique_ptr<RunLog>(new RunLog(paths.log(), paths.metrics(), kept.seconds));
}

void RunLog::also_write_events(const RunPaths& paths, dim_t step) {
  events_ = std::make_unique<EventFile>(paths.tensorboard(), step);
}

void RunLog::write(const StartReport& report) { log_.append(to_json(report) + "\n"); }

void RunLog::write(const TrainReport& report) {
  log_.append(to_json(report) + "\n");
  if (!events_) return;
  events_->write(report.step,
                 std::array<Scalar, 5>{{{"train/loss", report.loss},
                                        {"train/perplexity", perplexity_of(report.loss)},
                                        {"train/learning_rate", report.learning_rate},
                                        {"train/gradient_norm", report.gradient_norm},
                                        {"train/tokens_per_second", report.tokens_per_second}}});
}

void RunLog::write(const EvalReport& report) {
  log_.append(to_json(report) + "\n");
  metrics_.append(fmt::format("{},{},{},{},{},{},{:.1f},{:.3f}\n", report.step, report.epoch,
                              report.train_loss, report.loss, report.perplexity,
                              report.learning_rate, report.tokens_per_second, report.seconds));
  if (!events_) return;
  events_->write(report.step, std::array<Scalar, 3>{{{"valid/loss", report.loss},
                                                     {"valid/perplexity", report.perplexity},
                                                     {"valid/accuracy", report.accuracy}}});
}

void RunLog::write_interrupted(dim_t step, int signal) {
  log_.append(line_of({{"event", "interrupted"}, {"step", step}, {"signal", signal}}));
}

void RunLog::write_diverged(dim_t step, const std::string& message) {
  log_.append(line_of({{"event", "diverged"}, {"step", step}, {"message", message}}));
}

void RunLog::write_skipped(dim_t step, const std::string& message) {
  log_.append(line_of({{"event", "skipped"}, {"step", step}, {"message", message}}));
}

void RunLog::write_spike(dim_t step, double loss, double usual) {
  log_.append(line_of({{"event", "spike"}, {"step", step}, {"loss", loss}, {"usual_loss", usual}}));
}

void RunLog::sync() {
  log_.sync();
  metrics_.sync();
}

void RunLog::write_done(const RunSummary& summary) { log_.append(to_json(summary) + "\n"); }

}  // namespace dsf
