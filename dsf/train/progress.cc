#include "dsf/train/progress.h"

#include <fmt/format.h>

#include <cmath>

#include "dsf/base/log.h"
#include "dsf/base/loss_units.h"

namespace dsf {
namespace {

constexpr double kLiveInterval = 0.1;    // seconds between two rewritings
constexpr double kPlainInterval = 10.0;  // seconds between two lines of a log file

}  // namespace

std::string format_duration(double seconds) {
  constexpr long kMinute = 60;
  constexpr long kHour = 3600;
  const long whole = std::lround(seconds);
  if (whole >= kHour) return fmt::format("{} h {:02d} min", whole / kHour, whole % kHour / kMinute);
  if (whole >= kMinute) return fmt::format("{} min {:02d} s", whole / kMinute, whole % kMinute);
  return fmt::format("{} s", whole);
}

std::string format_count(double count) {
  std::string digits = fmt::format("{:.0f}", count);
  for (auto at = static_cast<dim_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string progress_line(const TrainReport& report) {
  return fmt::format("step {}/{}  epoch {:.2f}  loss {:.4f}  ppl {:.1f}  {} tokens/s  {} left",
                     report.step, report.total_steps, report.epoch, report.loss,
                     perplexity_of(report.loss), format_count(report.tokens_per_second),
                     format_duration(report.seconds_left));
}

void ProgressDisplay::on_start(const StartReport& report) {
  const std::string ranks =
      report.ranks == 1 ? "" : fmt::format("{} ranks, each with ", report.ranks);
  log_info(fmt::format("{} step {} of {}: {} parameters, vocabulary {}, {}, {}, {}{} thread{}",
                       report.resumed ? "resuming after" : "starting at", report.step,
                       report.total_steps, format_count(static_cast<double>(report.parameters)),
                       report.vocab, report.feedback, report.precision, ranks, report.threads,
                       report.threads == 1 ? "" : "s"));
  since_shown_.restart();
}

void ProgressDisplay::on_step(const TrainReport& report) {
  const bool live = terminal_is_live();
  const bool first = steps_shown_ == 0;
  if (!first && since_shown_.seconds() < (live ? kLiveInterval : kPlainInterval)) return;
  if (live) {
    show_live_line(progress_line(report));
  } else {
    log_info(progress_line(report));
  }
  steps_shown_ += 1;
  since_shown_.restart();
}

void ProgressDisplay::on_evaluating(dim_t step, double part) {
  if (!terminal_is_live() || since_shown_.seconds() < kLiveInterval) return;
  show_live_line(fmt::format("step {}  evaluating: {:.0f} % done", step, 100.0 * part));
  since_shown_.restart();
}

void ProgressDisplay::on_eval(const EvalReport& report) {
  log_info(
      fmt::format("step {}  epoch {:.2f}  train loss {:.4f}  valid loss {:.4f}  valid ppl {:.2f}  "
                  "{} tokens/s  {}{}",
                  report.step, report.epoch, report.train_loss, report.loss, report.perplexity,
                  format_count(report.tokens_per_second), format_duration(report.seconds),
                  report.best ? "  best" : ""));
}

}  // namespace dsf
