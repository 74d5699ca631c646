#include "dsf/feedback/iterated.h"

#include <algorithm>
#include <span>

#include "dsf/feedback/streaming.h"
#include "dsf/kernels/diagonal_step.h"
#include "dsf/kernels/rows.h"

namespace dsf {
namespace {

// Sequences of a slice: where windows are short, enough to fill a span with one of them.
dim_t slice_rows(dim_t batch, dim_t window) {
  return streaming_rows(batch, std::max(kStreamingRows, kSpanRows / window));
}

dim_t slots_of(dim_t batch, dim_t window) { return task_count(batch, slice_rows(batch, window)); }

// A span's rows, and those of the step before it.
dim_t guess_rows(dim_t batch, dim_t window) { return kSpanRows + slice_rows(batch, window); }

/// The corrections of one span after another, of all slices. On entry g [N, S] holds e.
class SpanCorrections {
 public:
  SpanCorrections(const PackedLayout& layout, BackwardAccess& cell,
                  const IteratedFeedback::Options& options, std::span<const float> a,
                  FeedbackWorkspace& work, MatrixF g)
      : layout_(layout), cell_(cell), options_(options), a_(a), g_(g) {
    const dim_t slots = slots_of(layout.batch(), options.window);
    cell.begin_trials(slots);
    guess_ = work.guess.reshape(slots * guess_rows(layout.batch(), options.window), g.cols);
    rest_ = work.rest.reshape(slots * kSpanRows, g.cols);
    carried_ = work.carried.reshape(options.corrections * layout.batch(), g.cols);
  }

  /// Adds to g what the last correction sends back from the span's steps.
  void correct(const StepSpan& span) const {
    for (dim_t i = 0; i < options_.corrections; ++i) {
      walk_guess(i, span);
      cell_.rest_product(span, options_.path, rest_of(span));
    }
    walk_span(layout_, span, [&](const SpanStep& step) {
      if (step.rows.t > 0) add_rows(rest_of(span, step), rows_before(step.rows));
    });
  }

 private:
  /// g^(i) of the span's steps, and of the step before it, which is carried to the next span.
  void walk_guess(dim_t i, const StepSpan& span) const {
    const dim_t rows = guess_rows(layout_.batch(), options_.window);
    const MatrixF g = guess_.middle_rows(span.slot * rows, rows);
    const MatrixF carried =
        carried_.middle_rows(i * layout_.batch() + span.begin, span.end - span.begin);
    const StepRows last = slice_at(layout_, span.last, span.begin, span.end);
    copy_rows(starts_from_g(span) ? rows_of(last) : carried.middle_rows(0, last.count),
              g.middle_rows(0, last.count));
    walk_span(layout_, span, [&](const SpanStep& step) { send_back(i, span, step, g); });
    if (span.first == 0) return;
    const StepRows next = slice_at(layout_, span.first - 1, span.begin, span.end);
    copy_rows(g.middle_rows(span.rows, next.count), carried.middle_rows(0, next.count));
  }

  /// g^(i)_{t-1} from g^(i)_t; `g` holds those of the span.
  void send_back(dim_t i, const StepSpan& span, const SpanStep& step, MatrixF g) const {
    const auto& [rows, at] = step;
    const ConstMatrixF g_t = g.middle_rows(at, rows.count);
    if (rows.t == 0) return cell_.own_path_trial(span, step, options_.path, g_t, {});

    const StepRows before = slice_at(layout_, rows.t - 1, span.begin, span.end);
    const MatrixF g_before = g.middle_rows(at + rows.count, before.count);
    const MatrixF reached = g_before.middle_rows(0, rows.count);  // the others end at t - 1
    copy_rows(rows_of(before), g_before);
    if (i == 0 && !a_.empty()) {
      zero_rows(reached);
      cell_.own_path_trial(span, step, options_.path, g_t, reached);
      join_paths(a_, g_t, rows_before(rows), reached);
      return;
    }
    if (i > 0) add_rows(rest_of(span, step), reached);
    cell_.own_path_trial(span, step, options_.path, g_t, reached);
  }

  /// True where g of the span's last step is the guess: e, at the end of all sequences, or final
  /// already, at that of a window.
  bool starts_from_g(const StepSpan& span) const {
    return span.last == layout_.length(span.begin) - 1 || (span.last + 1) % options_.window == 0;
  }
  /// Of g. Those of all steps before the span's last hold e still.
  MatrixF rows_of(StepRows rows) const {
    return g_.middle_rows(layout_.offset(rows.t) + rows.begin, rows.count);
  }
  MatrixF rows_before(StepRows rows) const {
    return rows_of({.t = rows.t - 1, .begin = rows.begin, .count = rows.count});
  }
  /// What the span's steps send to those before them; and one of them.
  MatrixF rest_of(const StepSpan& span) const {
    return rest_.middle_rows(span.slot * kSpanRows, span.rows);
  }
  ConstMatrixF rest_of(const StepSpan& span, const SpanStep& step) const {
    return rest_of(span).middle_rows(step.at, step.rows.count);
  }

  const PackedLayout& layout_;
  BackwardAccess& cell_;
  const IteratedFeedback::Options options_;
  std::span<const float> a_;
  MatrixF g_;
  MatrixF guess_;
  MatrixF rest_;
  MatrixF carried_;
};

}  // namespace

std::vector<NamedBuffer> IteratedFeedback::buffers() {
  if (a_.empty()) return {};
  return {{"diagonal", a_.span()}};
}

dim_t IteratedFeedback::trial_slots(dim_t batch) const { return slots_of(batch, options_.window); }

dim_t IteratedFeedback::workspace_numbers(const GradientShape& g) const {
  const dim_t corrections = std::min(options_.corrections, g.steps - 1);
  return g.state * (trial_slots(g.batch) * (guess_rows(g.batch, options_.window) + kSpanRows) +
                    corrections * g.batch);
}

void IteratedFeedback::run(const PackedLayout& layout, BackwardAccess& cell,
                           FeedbackWorkspace& work, MatrixF g) {
  Options options = options_;
  // More would change nothing: after T - 1 corrections every step is exact.
  options.corrections = std::min(options.corrections, layout.steps() - 1);
  const SpanCorrections spans(layout, cell, options, a_.span(), work, g);
  const dim_t slice = slice_rows(layout.batch(), options.window);
  walk_spans_backward(layout, slice, options.window, [&](const StepSpan& span) {
    spans.correct(span);
    walk_span(layout, span,
              [&](const SpanStep& step) { cell.own_path_step(step.rows, OwnPath::gates, g); });
  });
  cell.finish_local_backward();
}

}  // namespace dsf
