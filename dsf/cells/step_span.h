#pragma once

// A walk back in spans: a few steps of a slice of sequences at a time (slices.h), so that what is
// done to them in several passes stays in cache, and a matrix product covers all their rows at once.

#include "dsf/cells/slices.h"

namespace dsf {

/// Rows of a span, at most: enough that a product by U is not bound by reading U.
inline constexpr dim_t kSpanRows = 32;

/// Steps `last` down to `first` of the sequences [begin, end). Their rows are numbered in the order
/// of the walk: those of step `last` from 0 on, then those of the step before it.
struct StepSpan {
  dim_t first = 0;
  dim_t last = 0;
  dim_t begin = 0;
  dim_t end = 0;
  dim_t rows = 0;  ///< of all its steps
  dim_t slot = 0;  ///< the slice's number: of scratch memory that no other slice touches
};

/// One step of a span.
struct SpanStep {
  StepRows rows;
  dim_t at = 0;  ///< where its rows begin among those of the span
};

/// body(SpanStep) from the span's last step to its first.
template <typename Body>
void walk_span(const PackedLayout& layout, const StepSpan& span, Body&& body) {
  dim_t at = 0;
  for (dim_t t = span.last; t >= span.first; --t) {
    const StepRows rows = slice_at(layout, t, span.begin, span.end);
    body(SpanStep{rows, at});
    at += rows.count;
  }
}

/// The span that ends at step `last`: as many steps as it has room for, down to `lowest`.
inline StepSpan span_from(const PackedLayout& layout, dim_t last, dim_t lowest, dim_t begin,
                          dim_t end, dim_t slot) {
  StepSpan span = {.first = last + 1, .last = last, .begin = begin, .end = end, .slot = slot};
  while (span.first > lowest) {
    const dim_t more = slice_at(layout, span.first - 1, begin, end).count;
    if (span.rows + more > kSpanRows) break;
    --span.first;
    span.rows += more;
  }
  return span;
}

/// body(StepSpan) for every slice, from its last step down to t = 0; slices in parallel. No span
/// reaches across a multiple of `window` steps.
/// `rows_per_slice`: at most kSpanRows.
template <typename Body>
void walk_spans_backward(const PackedLayout& layout, dim_t rows_per_slice, dim_t window,
                         Body&& body) {
  for_each_slice(layout.batch(), rows_per_slice, [&](dim_t begin, dim_t end) {
    for (dim_t last = layout.length(begin) - 1; last >= 0;) {
      const dim_t lowest = last - last % window;
      const StepSpan span = span_from(layout, last, lowest, begin, end, begin / rows_per_slice);
      body(span);
      last = span.first - 1;
    }
  });
}

}  // namespace dsf
