#include <algorithm>
#include <csignal>
#include <optional>

#include "dsf/run/config_keyword.h"
#include "dsf/run/report_json.h"
#include "dsf/train/progress.h"
#include "dsf/train/training_run.h"
#include "python/native/float_mode.h"
#include "python/native/status.h"
#include "python/native/text.h"

namespace dsf::native {
namespace {

/// Tells Python what happens, and remembers that it asked to stop.
class Caller final : public TrainObserver {
 public:
  Caller(const dsf_train_request& request, dsf_train_callback callback, unsigned pythons_mode)
      : callback_(callback), tell_steps_(request.tell_steps != 0), pythons_mode_(pythons_mode) {
    if (request.verbose != 0) display_.emplace();
  }

  void on_start(const StartReport& report) override {
    if (display_) display_->on_start(report);
    tell("start", to_json(report));
  }
  void on_step(const TrainReport& report) override {
    if (display_) display_->on_step(report);
    if (tell_steps_) tell("step", to_json(report));
  }
  void on_evaluating(dim_t step, double part) override {
    if (display_) display_->on_evaluating(step, part);
    tell("ask", "");
  }
  void on_eval(const EvalReport& report) override {
    if (display_) display_->on_eval(report);
    tell("eval", to_json(report));
  }

  /// The signal by which the run stops, or 0.
  int stop_signal() {
    tell("ask", "");
    return stopped_ ? SIGINT : 0;
  }

 private:
  void tell(const char* event, const std::string& json) {
    const FloatMode mode(pythons_mode_);  // as it was when Python called
    stopped_ = callback_(event, json.c_str()) != 0 || stopped_;
  }

  dsf_train_callback callback_;
  bool tell_steps_;
  unsigned pythons_mode_;
  bool stopped_ = false;
  std::optional<ProgressDisplay> display_;
};

RunRequest request_of(const dsf_train_request& given) {
  RunRequest request;
  request.out = string_of(given.out);
  request.resume = given.resume != 0;
  request.force = given.force != 0;
  request.force_memory = given.force_memory != 0;
  std::vector<Assignment> keywords;
  for (int64_t i = 0; i < given.count; ++i) {
    keywords.push_back(parse_keyword(given.names[i], given.values[i], "dsf.train"));
  }
  request.assignments =
      in_order_of_effect(given.config_file == nullptr ? std::vector<Assignment>{}
                                                      : read_config_file(given.config_file),
                         std::move(keywords));
  return request;
}

}  // namespace
}  // namespace dsf::native

dsf_status dsf_train(const dsf_train_request* request, dsf_train_callback callback,
                     dsf_text* summary) {
  using namespace dsf::native;
  const unsigned pythons_mode = _mm_getcsr();
  return guarded([&] {
    Caller caller(*request, callback, pythons_mode);
    const dsf::RunSummary result =
        dsf::run_training(request_of(*request), caller, [&caller] { return caller.stop_signal(); });
    *summary = hand_out(to_json(result));
  });
}
