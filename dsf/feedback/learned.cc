#include "dsf/feedback/learned.h"

#include <algorithm>
#include <array>

#include "dsf/feedback/bptt.h"
#include "dsf/kernels/elementwise.h"
#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

constexpr double kStep = 0.5;   // of the way to where the linearised distance is least
constexpr dim_t kColumns = 16;  // of one task: a cache line of every row

// What one unit of one sequence carries from step t + 1 to step t.
struct Carried {
  float p = 0.0F;
  float v = 0.0F;
};

}  // namespace

LearnedFeedback::LearnedFeedback(Buffer<float> a, DiagonalForm form, FitSchedule schedule)
    : scan_(std::move(a), form), exact_batches_(schedule) {}

std::vector<FeedbackBuffer> LearnedFeedback::buffers() {
  return {{"diagonal", scan_.diagonal()}, exact_batches_.buffer()};
}

void LearnedFeedback::run(const PackedLayout& layout, BackwardAccess& cell, FeedbackWorkspace& work,
                          MatrixF g) {
  if (exact_batches_.is_due()) {
    copy(g, work.errors.reshape(g.rows, g.cols));
    BpttFeedback().run(layout, cell, work, g);
    learn(layout, work.errors, g);
  } else {
    scan_.run(layout, cell, work, g);
  }
  exact_batches_.count();
}

// Columns in parallel, rows in order: sums in double, in the same order with any number of threads.
void LearnedFeedback::learn(const PackedLayout& layout, ConstMatrixF errors, ConstMatrixF exact) {
  const std::span<float> a = scan_.diagonal();
  parallel_ranges(exact.cols, kColumns, [&](dim_t begin, dim_t end) {
    using Columns = std::array<Carried, kColumns>;
    std::vector<Columns> carried(static_cast<std::size_t>(layout.batch()));
    std::array<double, kColumns> products{};
    std::array<double, kColumns> squares{};
    for (dim_t t = layout.steps() - 1; t >= 0; --t) {
      for (dim_t b = 0; b < layout.rows_at(t); ++b) {
        const float* error = errors.row(layout.offset(t) + b);
        const float* wanted = exact.row(layout.offset(t) + b);
        for (dim_t j = begin; j < end; ++j) {
          const auto column = static_cast<std::size_t>(j - begin);
          const float factor = a[static_cast<std::size_t>(j)];
          Carried& unit = carried[static_cast<std::size_t>(b)][column];
          unit.v = unit.p + factor * unit.v;
          unit.p = error[j] + factor * unit.p;
          products[column] += static_cast<double>(wanted[j] - unit.p) * static_cast<double>(unit.v);
          squares[column] += static_cast<double>(unit.v) * static_cast<double>(unit.v);
        }
      }
    }
    for (dim_t j = begin; j < end; ++j) {
      const auto column = static_cast<std::size_t>(j - begin);
      if (!(squares[column] > 0.0)) continue;
      float& factor = a[static_cast<std::size_t>(j)];
      const double next = static_cast<double>(factor) + kStep * products[column] / squares[column];
      factor = static_cast<float>(std::clamp(next, -1.0, 1.0));
    }
  });
}

}  // namespace dsf
