#include "dsf/feedback/iterated.h"

#include <algorithm>
#include <span>

#include "dsf/feedback/streaming.h"
#include "dsf/kernels/diagonal_step.h"
#include "dsf/kernels/rows.h"

namespace dsf {
namespace {

constexpr OwnPath kPath = OwnPath::gates;

dim_t slots_of(dim_t batch) { return task_count(batch, streaming_rows(batch)); }

// A span's rows, and those of the step before it.
dim_t guess_rows(dim_t batch) { return kSpanRows + streaming_rows(batch); }

void add_rows(ConstMatrixF from, MatrixF to) {
  for (dim_t i = 0; i < from.rows; ++i) add_row(from.row(i), from.cols, to.row(i));
}

/// The corrections of one span after another, of all slices. On entry g [N, S] holds e.
class SpanCorrections {
 public:
  SpanCorrections(const PackedLayout& layout, BackwardAccess& cell, dim_t corrections,
                  std::span<const float> a, FeedbackWorkspace& work, MatrixF g)
      : layout_(layout), cell_(cell), corrections_(corrections), a_(a), g_(g) {
    const dim_t slots = slots_of(layout.batch());
    cell.begin_trials(slots);
    guess_ = work.guess.reshape(slots * guess_rows(layout.batch()), g.cols);
    rest_ = work.rest.reshape(slots * kSpanRows, g.cols);
    carried_ = work.carried.reshape(corrections * layout.batch(), g.cols);
  }

  /// What the last correction sends back from the span's steps is added to g.
  void correct(const StepSpan& span) const {
    for (dim_t i = 0; i < corrections_; ++i) {
      walk_guess(i, span);
      cell_.rest_product(span, kPath, rest_of(span));
    }
    walk_span(layout_, span, [&](const SpanStep& step) {
      if (step.rows.t == 0) return;
      add_rows(rest_at(span, step), errors_at(step.rows.t - 1, step.rows.begin, step.rows.count));
    });
  }

 private:
  /// g^(i) of the span's steps, and of the step before it, which is carried to the next span.
  void walk_guess(dim_t i, const StepSpan& span) const {
    const MatrixF g =
        guess_.middle_rows(span.slot * guess_rows(layout_.batch()), guess_rows(layout_.batch()));
    const MatrixF carried =
        carried_.middle_rows(i * layout_.batch() + span.begin, span.end - span.begin);
    const StepRows last = slice_at(layout_, span.last, span.begin, span.end);
    const bool begins = span.last == layout_.length(span.begin) - 1;
    copy_rows(begins ? ConstMatrixF(errors_at(last.t, last.begin, last.count))
                     : ConstMatrixF(carried.middle_rows(0, last.count)),
              g.middle_rows(0, last.count));
    walk_span(layout_, span, [&](const SpanStep& step) {
      const ConstMatrixF g_t = g.middle_rows(step.at, step.rows.count);
      if (step.rows.t == 0) return cell_.own_path_trial(span, step, kPath, g_t, {});
      const StepRows before = slice_at(layout_, step.rows.t - 1, span.begin, span.end);
      const ConstMatrixF e = errors_at(before.t, before.begin, before.count);
      const MatrixF previous = g.middle_rows(step.at + step.rows.count, before.count);
      copy_rows(e, previous);
      const MatrixF reached = previous.middle_rows(0, step.rows.count);
      if (i > 0) add_rows(rest_at(span, step), reached);
      if (i == 0 && !a_.empty()) {
        zero_rows(reached);
        cell_.own_path_trial(span, step, kPath, g_t, reached);
        join_paths(a_, g_t, e.middle_rows(0, step.rows.count), reached);
      } else {
        cell_.own_path_trial(span, step, kPath, g_t, reached);
      }
    });
    if (span.first == 0) return;
    const dim_t alive = slice_at(layout_, span.first - 1, span.begin, span.end).count;
    copy_rows(g.middle_rows(span.rows, alive), carried.middle_rows(0, alive));
  }

  /// Rows of g that no correction has reached yet: e.
  MatrixF errors_at(dim_t t, dim_t begin, dim_t count) const {
    return g_.middle_rows(layout_.offset(t) + begin, count);
  }
  MatrixF rest_of(const StepSpan& span) const {
    return rest_.middle_rows(span.slot * kSpanRows, span.rows);
  }
  /// What a step of the span sends to the one before it.
  ConstMatrixF rest_at(const StepSpan& span, const SpanStep& step) const {
    return rest_of(span).middle_rows(step.at, step.rows.count);
  }

  const PackedLayout& layout_;
  BackwardAccess& cell_;
  dim_t corrections_;
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

dim_t IteratedFeedback::trial_slots(dim_t batch) const { return slots_of(batch); }

dim_t IteratedFeedback::workspace_numbers(const GradientShape& g) const {
  const dim_t corrections = std::min(corrections_, g.steps - 1);
  return g.state *
         (trial_slots(g.batch) * (guess_rows(g.batch) + kSpanRows) + corrections * g.batch);
}

void IteratedFeedback::run(const PackedLayout& layout, BackwardAccess& cell,
                           FeedbackWorkspace& work, MatrixF g) {
  // More would change nothing: after T - 1 corrections every step is exact.
  const dim_t corrections = std::min(corrections_, layout.steps() - 1);
  const SpanCorrections spans(layout, cell, corrections, a_.span(), work, g);
  walk_spans_backward(layout, streaming_rows(layout.batch()), [&](const StepSpan& span) {
    spans.correct(span);
    walk_span(layout, span, [&](const SpanStep& step) { cell.own_path_step(step.rows, kPath, g); });
  });
  cell.finish_local_backward();
}

}  // namespace dsf
