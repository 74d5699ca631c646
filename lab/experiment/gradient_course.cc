#include "lab/experiment/gradient_course.h"

#include <fmt/format.h>

#include <utility>

#include "dsf/feedback/feedback_method.h"
#include "dsf/train/training_batches.h"
#include "dsf/train/training_schedule.h"
#include "dsf/train/training_step.h"

namespace dsf {
namespace {

/// The updates of a run, without its files.
class PlainTraining {
 public:
  PlainTraining(const RunConfig& config, const Dataset& data, LanguageModel& model)
      : config_(config),
        model_(model),
        batcher_(training_batches(config, data.train, data.tokenizer->bos())),
        schedule_(config.train, batcher_.batches_per_epoch()) {
    adam_.m.resize(model.table().flat_size());
    adam_.v.resize(model.table().flat_size());
    if (batcher_.carries_state()) state_ = model.zero_state(batcher_.batch_size());
    model_.set_precision(precision_of(config_.train));
  }

  dim_t step() const { return step_; }
  bool finished() const { return schedule_.finished(step_); }

  void update() {
    if (batcher_.at_epoch_start()) {
      for (Matrix& carried : state_) carried.zero();
    }
    batcher_.next(batch_);
    training_step(model_, batch_,
                  {.adam = adam_config_of(config_.train),
                   .learning_rate = schedule_.learning_rate(step_),
                   .clip = config_.train.clip},
                  adam_, batcher_.carries_state() ? &state_ : nullptr);
    ++step_;
  }

 private:
  const RunConfig& config_;
  LanguageModel& model_;
  Batcher batcher_;
  TrainingSchedule schedule_;
  AdamState adam_;
  ModelState state_;
  TokenBatch batch_;
  dim_t step_ = 0;
};

constexpr const char* kCosine = "cosine to BPTT's gradient";

Figure course_figure(const std::vector<CoursePoint>& course) {
  Figure figure{.title = "Gradient of the recurrent weights along training",
                .x_label = "training steps",
                .y_label = kCosine};
  if (course.size() < 2) return figure;
  for (std::size_t i = 0; i < course.front().methods.size(); ++i) {
    const std::string& method = course.front().methods[i].method;
    Curve curve{feedback_title(method), method, {}, {}};
    for (const CoursePoint& point : course) {
      curve.x.push_back(static_cast<double>(point.step));
      curve.y.push_back(headline_cosine(point.methods[i]));
    }
    figure.curves.push_back(std::move(curve));
  }
  return figure;
}

Figure cost_figure(const std::vector<MethodAgreement>& methods,
                   const std::map<std::string, double>& costs) {
  Figure figure{.title = "Gradient of the recurrent weights against cost",
                .x_label = "time of a training step, FT-BPTT = 1",
                .y_label = kCosine,
                .points_only = true};
  for (const MethodAgreement& method : methods) {
    const auto cost = costs.find(method.method);
    if (cost == costs.end()) continue;
    figure.curves.push_back(
        {feedback_title(method.method), method.method, {cost->second}, {headline_cosine(method)}});
  }
  return figure;
}

Figure lag_figure(const CoursePoint& point) {
  Figure figure{.title = fmt::format(
                    "Gradient of the last token's loss at the input, after {} steps", point.step),
                .x_label = "steps back in time",
                .y_label = kCosine,
                .log_x = true};
  for (const MethodLags& method : point.lags) {
    Curve curve{feedback_title(method.method), method.method, {}, {}};
    for (const LagAgreement& row : method.blocks.front()) {
      if (row.lag == 0) continue;  // not on a logarithmic axis
      curve.x.push_back(static_cast<double>(row.lag));
      curve.y.push_back(row.cosine);
    }
    if (!curve.x.empty()) figure.curves.push_back(std::move(curve));
  }
  return figure;
}

}  // namespace

CoursePoint course_point(const RunConfig& config, const Dataset& data, const LanguageModel& model,
                         const CourseOptions& options, dim_t step) {
  CoursePoint point{step, compare_gradients(config, data, model, options.comparison), {}};
  if (options.lags) point.lags = compare_lags(config, data, model, options.comparison);
  return point;
}

std::vector<CoursePoint> gradient_course(const RunConfig& config, const Dataset& data,
                                         const CourseOptions& options, dim_t every,
                                         const std::function<void(const CoursePoint&)>& on_point,
                                         LanguageModel& model) {
  PlainTraining training(config, data, model);
  std::vector<CoursePoint> course;
  for (;;) {
    if (training.step() % every == 0 || training.finished()) {
      course.push_back(course_point(config, data, model, options, training.step()));
      on_point(course.back());
    }
    if (training.finished()) return course;
    training.update();
  }
}

double headline_cosine(const MethodAgreement& method) {
  const auto recurrent = row_named(method.layers, kRecurrentRow);
  return recurrent ? recurrent->cosine : method.parameters.back().cosine;
}

Table course_table(const std::vector<CoursePoint>& course) {
  std::vector<std::string> headings = {"step"};
  if (!course.empty()) {
    for (const MethodAgreement& method : course.front().methods) headings.push_back(method.method);
  }
  Table table(std::move(headings));
  for (const CoursePoint& point : course) {
    std::vector<std::string> cells = {fmt::to_string(point.step)};
    for (const MethodAgreement& method : point.methods) {
      cells.push_back(fmt::format("{:.4f}", headline_cosine(method)));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

std::vector<NamedFigure> gradient_figures(const std::vector<CoursePoint>& course,
                                          const std::map<std::string, double>& costs) {
  std::vector<NamedFigure> figures;
  figures.push_back({"gradient_course", course_figure(course)});
  if (!course.empty()) {
    figures.push_back({"gradient_cost", cost_figure(course.back().methods, costs)});
  }
  for (const CoursePoint& point : course) {
    figures.push_back({fmt::format("gradient_lags_{}", point.step), lag_figure(point)});
  }
  std::erase_if(figures, [](const NamedFigure& named) { return named.figure.curves.empty(); });
  return figures;
}

}  // namespace dsf
