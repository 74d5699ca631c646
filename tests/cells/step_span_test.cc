// A walk in spans: every row of every slice once, in order, no more rows at a time than a span has
// room for.

#include "dsf/cells/step_span.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/layouts.h"

namespace dsf {
namespace {

// Sizes of the spans, slot after slot.
std::vector<StepSpan> spans_of(const PackedLayout& layout, dim_t rows_per_slice, dim_t window) {
  std::vector<std::vector<StepSpan>> by_slot(
      static_cast<std::size_t>(task_count(layout.batch(), rows_per_slice)));
  walk_spans_backward(layout, rows_per_slice, window, [&](const StepSpan& span) {
    by_slot[static_cast<std::size_t>(span.slot)].push_back(span);
  });
  std::vector<StepSpan> spans;
  for (const auto& slot : by_slot) spans.insert(spans.end(), slot.begin(), slot.end());
  return spans;
}

void expect_every_row_once(const PackedLayout& layout, dim_t rows_per_slice, dim_t window) {
  SCOPED_TRACE(layout.steps());
  std::vector<int> visits(static_cast<std::size_t>(layout.total_rows()));
  dim_t slot = -1;
  dim_t next = 0;
  for (const StepSpan& span : spans_of(layout, rows_per_slice, window)) {
    if (span.slot != slot) {
      EXPECT_EQ(next, 0) << "the slice before this one has not come to its first step";
      slot = span.slot;
      next = layout.length(span.begin);
    }
    EXPECT_EQ(span.last, next - 1);
    EXPECT_LE(span.rows, kSpanRows);
    EXPECT_EQ(span.first / window, span.last / window) << "across the edge of a window";
    next = span.first;
    dim_t at = 0;
    walk_span(layout, span, [&](const SpanStep& step) {
      EXPECT_EQ(step.at, at);
      at += step.rows.count;
      for (dim_t i = 0; i < step.rows.count; ++i) {
        const dim_t row = layout.offset(step.rows.t) + step.rows.begin + i;
        ++visits[static_cast<std::size_t>(row)];
      }
    });
    EXPECT_EQ(at, span.rows);
  }
  EXPECT_EQ(next, 0);
  EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
}

TEST(StepSpan, WalksOverEveryRowOnce) {
  for (const dim_t window : {dim_t{1}, dim_t{5}, dim_t{1000}}) {
    for (const dim_t rows_per_slice : {dim_t{1}, dim_t{7}, kSpanRows}) {
      expect_every_row_once(PackedLayout::uniform(9, 3), rows_per_slice, window);
      expect_every_row_once(PackedLayout::uniform(300, 1), rows_per_slice, window);
      expect_every_row_once(PackedLayout::uniform(1, 70), rows_per_slice, window);
      expect_every_row_once(PackedLayout({70, 70, 41, 33, 9, 9, 1}), rows_per_slice, window);
      expect_every_row_once(long_ragged_layout(), rows_per_slice, window);
    }
  }
}

TEST(StepSpan, IsFilledWhereThereAreRowsEnough) {
  const std::vector<StepSpan> spans = spans_of(PackedLayout::uniform(kSpanRows + 1, 1), 1, 1000);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].rows, kSpanRows);
  EXPECT_EQ(spans[1].rows, 1);
}

}  // namespace
}  // namespace dsf
