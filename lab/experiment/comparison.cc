#include "lab/experiment/comparison.h"

#include <fmt/format.h>

#include <utility>

#include "dsf/base/log.h"
#include "dsf/feedback/feedback_method.h"
#include "dsf/run/run_directory.h"
#include "dsf/run/run_record.h"
#include "dsf/train/progress.h"

namespace dsf {
namespace {

/// Shows progress and keeps the evaluations.
class EvaluationRecorder final : public ProgressDisplay {
 public:
  void on_eval(const EvalReport& report) override {
    ProgressDisplay::on_eval(report);
    evaluations_.push_back(report);
  }
  std::vector<EvalReport> take() { return std::move(evaluations_); }

 private:
  std::vector<EvalReport> evaluations_;
};

std::string milliseconds(double seconds) { return fmt::format("{:.1f} ms", seconds * 1e3); }

/// What the process does once (pages of memory, code that is generated, a clock that rises) would be
/// charged to the method that runs first: a few steps that do not count go before it.
void warm_up(const Comparison& comparison, const StopRequest& stop) {
  RunRequest request;
  request.out = comparison.out / "warm-up";
  request.assignments = comparison.assignments;
  for (const auto& [key, value] :
       {std::pair{"train.steps", "20"}, std::pair{"train.log_every", "20"}}) {
    request.assignments.push_back(parse_assignment(key, value, "the warm-up"));
  }
  request.assignments.push_back(
      parse_assignment("feedback.method", comparison.methods.front(), "the warm-up"));
  request.force = true;
  TrainObserver silent;
  run_training(request, silent, stop);
  std::filesystem::remove_all(request.out);
}

/// The evaluations that a run had before this process went on with it.
std::vector<EvalReport> earlier_evaluations(const std::filesystem::path& root) {
  std::vector<EvalReport> evaluations;
  for (const EvalPoint& point : read_run_record(root).evaluations) {
    EvalReport report;
    report.step = static_cast<dim_t>(point.step);
    report.epoch = point.epoch;
    report.loss = point.loss;
    report.perplexity = point.perplexity;
    report.train_loss = point.train_loss;
    evaluations.push_back(report);
  }
  return evaluations;
}

}  // namespace

std::vector<ComparedRun> run_comparison(const Comparison& comparison, const StopRequest& stop) {
  std::vector<ComparedRun> runs;
  if (comparison.warms_up) warm_up(comparison, stop);
  for (const std::string& method : comparison.methods) {
    RunRequest request;
    request.out = comparison.out / method;
    request.assignments = comparison.assignments;
    request.assignments.push_back(
        parse_assignment("feedback.method", method, "the method compared"));
    std::vector<EvalReport> evaluations;
    request.resume = is_run_directory(request.out);
    if (request.resume) evaluations = earlier_evaluations(request.out);
    log_info(fmt::format("\n{} -> {}", feedback_title(method), request.out.string()));
    EvaluationRecorder recorder;
    const RunSummary summary = run_training(request, recorder, stop);
    clear_live_line();
    if (summary.interrupted && summary.steps == 0) break;
    // A run that goes on takes back what was said of steps that it goes through again.
    const std::vector<EvalReport> now = recorder.take();
    if (!now.empty()) {
      std::erase_if(evaluations, [&](const EvalReport& e) { return e.step >= now.front().step; });
    }
    evaluations.insert(evaluations.end(), now.begin(), now.end());
    runs.push_back({method, summary, std::move(evaluations)});
    if (summary.interrupted) break;
  }
  return runs;
}

Table comparison_table(const std::vector<ComparedRun>& runs) {
  Table table({"method", "valid ppl", "best", "tokens/s", "forward", "head", "backward"});
  for (const ComparedRun& run : runs) {
    const RunSummary& s = run.summary;
    const std::string last =
        run.evaluations.empty() ? "-" : fmt::format("{:.2f}", run.evaluations.back().perplexity);
    const std::string best = s.best_perplexity ? fmt::format("{:.2f}", *s.best_perplexity) : "-";
    table.add_row({feedback_title(run.method), last, best, format_count(s.tokens_per_second),
                   milliseconds(s.phases.forward), milliseconds(s.phases.head),
                   milliseconds(s.phases.backward)});
  }
  return table;
}

Figure comparison_figure(const std::string& title, const std::vector<ComparedRun>& runs) {
  Figure figure{.title = title, .x_label = "training steps", .y_label = "validation perplexity"};
  for (const ComparedRun& run : runs) {
    Curve curve{feedback_title(run.method), run.method, {}, {}};
    for (const EvalReport& evaluation : run.evaluations) {
      curve.x.push_back(static_cast<double>(evaluation.step));
      curve.y.push_back(evaluation.perplexity);
    }
    figure.curves.push_back(std::move(curve));
  }
  return figure;
}

}  // namespace dsf
