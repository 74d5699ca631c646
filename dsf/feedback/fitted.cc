#include "dsf/feedback/fitted.h"

#include <algorithm>
#include <array>

#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

constexpr float kDecay = 0.5F;  // of older sums, with each refit

}  // namespace

FittedFeedback::FittedFeedback(dim_t state_size, DiagonalForm form, FitSchedule schedule)
    : LearningDiagonal(Buffer<float>(state_size), form, schedule),
      products_(state_size),
      squares_(state_size) {}

std::vector<NamedBuffer> FittedFeedback::buffers() {
  return {{"diagonal", diagonal()},
          {"products", products_.span()},
          {"squares", squares_.span()},
          exact_batches().buffer()};
}

void FittedFeedback::learn(const PackedLayout& layout, ConstMatrixF errors, ConstMatrixF exact) {
  add_sums(layout, errors, exact);
  for (dim_t j = 0; j < exact.cols; ++j) {
    const float a = squares_[j] > 0.0F ? products_[j] / squares_[j] : 0.0F;
    diagonal()[static_cast<std::size_t>(j)] = std::clamp(a, -1.0F, 1.0F);
  }
}

// Columns in parallel, rows in order: sums in double, in the same order with any number of threads.
void FittedFeedback::add_sums(const PackedLayout& layout, ConstMatrixF errors, ConstMatrixF g) {
  const float keep = exact_batches().calibrating() ? 1.0F : kDecay;
  parallel_ranges(g.cols, kColumns, [&](dim_t begin, dim_t end) {
    std::array<double, kColumns> products{};
    std::array<double, kColumns> squares{};
    for (dim_t t = 1; t < layout.steps(); ++t) {
      for (dim_t b = 0; b < layout.rows_at(t); ++b) {
        const float* after = g.row(layout.offset(t) + b);
        const float* total = g.row(layout.offset(t - 1) + b);
        const float* error = errors.row(layout.offset(t - 1) + b);
        for (dim_t j = begin; j < end; ++j) {
          const auto column = static_cast<std::size_t>(j - begin);
          const auto weight = static_cast<double>(after[j]);
          products[column] += static_cast<double>(total[j] - error[j]) * weight;
          squares[column] += weight * weight;
        }
      }
    }
    for (dim_t j = begin; j < end; ++j) {
      const auto column = static_cast<std::size_t>(j - begin);
      products_[j] = keep * products_[j] + static_cast<float>(products[column]);
      squares_[j] = keep * squares_[j] + static_cast<float>(squares[column]);
    }
  });
}

}  // namespace dsf
