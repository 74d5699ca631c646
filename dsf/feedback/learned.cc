#include "dsf/feedback/learned.h"

#include <array>

#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

constexpr double kStep = 0.5;  // of the way to where the linearised distance is least

// What one unit of one sequence carries from step t + 1 to step t.
struct Carried {
  float p = 0.0F;
  float v = 0.0F;
};

}  // namespace

std::vector<NamedBuffer> LearnedFeedback::buffers() {
  return {{"diagonal", diagonal()}, exact_batches().buffer()};
}

// Columns in parallel, rows in order: sums in double, in the same order with any number of threads.
void LearnedFeedback::learn(const PackedLayout& layout, ConstMatrixF errors, ConstMatrixF exact) {
  const std::span<float> a = diagonal();
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
      const auto before = static_cast<double>(a[static_cast<std::size_t>(j)]);
      set_diagonal(j, before + kStep * products[column] / squares[column]);
    }
  });
}

}  // namespace dsf
