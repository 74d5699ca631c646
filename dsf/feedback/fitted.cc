#include "dsf/feedback/fitted.h"

#include <array>
#include <cmath>

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

// Columns in parallel, rows in order: sums in double, in the same order with any number of threads.
void FittedFeedback::learn(const PackedLayout& layout, ConstMatrixF errors, ConstMatrixF exact) {
  const float keep = exact_batches().calibrating() ? 1.0F : kDecay;
  parallel_ranges(exact.cols, kColumns, [&](dim_t begin, dim_t end) {
    std::array<double, kColumns> products{};
    std::array<double, kColumns> squares{};
    for (dim_t t = 1; t < layout.steps(); ++t) {
      for (dim_t b = 0; b < layout.rows_at(t); ++b) {
        const float* after = exact.row(layout.offset(t) + b);
        const float* total = exact.row(layout.offset(t - 1) + b);
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
      const float product = keep * products_[j] + static_cast<float>(products[column]);
      const float square = keep * squares_[j] + static_cast<float>(squares[column]);
      if (!std::isfinite(product) || !std::isfinite(square)) continue;
      products_[j] = product;
      squares_[j] = square;
      set_diagonal(j, square > 0.0F ? static_cast<double>(product / square) : 0.0);
    }
  });
}

}  // namespace dsf
