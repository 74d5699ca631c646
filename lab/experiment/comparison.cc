#include "lab/experiment/comparison.h"
#include "dsf/feedback/feedback_method.h"

#include <fmt/format.h>

#include <utility>

#include "dsf/base/log.h"
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

}  // namespace

std::vector<ComparedRun> run_comparison(const Comparison& comparison, const StopRequest& stop) {
  std::vector<ComparedRun> runs;
  for (const std::string& method : comparison.methods) {
    RunRequest request;
    request.out = comparison.out / method;
    request.assignments = comparison.assignments;
    request.assignments.push_back(
        parse_assignment("feedback.method", method, "the method compared"));
    log_info(fmt::format("\n{} -> {}", feedback_title(method), request.out.string()));
    EvaluationRecorder recorder;
    const RunSummary summary = run_training(request, recorder, stop);
    clear_live_line();
    if (summary.interrupted && summary.steps == 0) break;
    runs.push_back({method, summary, recorder.take()});
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
