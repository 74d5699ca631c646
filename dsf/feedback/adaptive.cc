#include "dsf/feedback/adaptive.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "dsf/kernels/elementwise.h"
#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

constexpr float kDecay = 0.5F;  // of older sums, with each refit
constexpr dim_t kColumns = 16;  // of one task: a cache line of every row

}  // namespace

AdaptiveFeedback::AdaptiveFeedback(dim_t state_size, DiagonalForm form, Schedule schedule)
    : schedule_(schedule),
      scan_(Buffer<float>(state_size), form),
      products_(state_size),
      squares_(state_size),
      counters_(2) {}

std::vector<NamedBuffer> AdaptiveFeedback::buffers() {
  return {{"diagonal", scan_.diagonal()},
          {"products", products_.span()},
          {"squares", squares_.span()},
          {"counters", counters_.span()}};
}

bool AdaptiveFeedback::calibrating() const {
  return counters_[0] < static_cast<float>(schedule_.calibration);
}

bool AdaptiveFeedback::exact_batch_is_due() const {
  return calibrating() || (schedule_.refit_every > 0 &&
                           counters_[1] + 1.0F >= static_cast<float>(schedule_.refit_every));
}

void AdaptiveFeedback::count_batch() {
  const bool due = exact_batch_is_due();
  if (calibrating()) counters_[0] += 1.0F;
  // If nothing is refitted there is nothing to count up to.
  counters_[1] = due || schedule_.refit_every == 0 ? 0.0F : counters_[1] + 1.0F;
}

void AdaptiveFeedback::run(BackwardPass& pass) {
  if (exact_batch_is_due()) {
    const MatrixF g = pass.g();
    copy(g, errors_.reshape(g.rows, g.cols));
    exact_.run(pass);
    fit(pass.layout(), errors_, g);
  } else {
    scan_.run(pass);
  }
  count_batch();
}

// Columns in parallel, rows in order: sums in double, in the same order with any number of threads.
void AdaptiveFeedback::fit(const PackedLayout& layout, ConstMatrixF errors, ConstMatrixF exact) {
  const float keep = calibrating() ? 1.0F : kDecay;
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
      set_diagonal(j, keep * products_[j] + static_cast<float>(products[column]),
                   keep * squares_[j] + static_cast<float>(squares[column]));
    }
  });
}

// Stays as it is if a sum is not finite: training may skip such a batch, and could not if it left a
// trace here.
void AdaptiveFeedback::set_diagonal(dim_t j, float products, float squares) {
  if (!std::isfinite(products) || !std::isfinite(squares)) return;
  products_[j] = products;
  squares_[j] = squares;
  const float a = squares > 0.0F ? products / squares : 0.0F;
  scan_.diagonal()[static_cast<std::size_t>(j)] = std::clamp(a, -1.0F, 1.0F);
}

}  // namespace dsf
