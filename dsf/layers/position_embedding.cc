#include "dsf/layers/position_embedding.h"

#include <fmt/format.h>

#include "dsf/base/error.h"
#include "dsf/kernels/parallel.h"
#include "dsf/kernels/rows.h"

namespace dsf {
namespace {

constexpr dim_t kStepsPerTask = 4;

/// body(t, row) for all rows, tasks of whole steps.
template <typename Body>
void for_each_row(const PackedLayout& layout, const Body& body) {
  parallel_ranges(layout.steps(), kStepsPerTask, [&](dim_t begin, dim_t end) {
    for (dim_t t = begin; t < end; ++t) {
      for (dim_t b = 0; b < layout.rows_at(t); ++b) body(t, layout.offset(t) + b);
    }
  });
}

}  // namespace

PositionEmbedding::PositionEmbedding(ParameterTable& table, const std::string& prefix,
                                     dim_t context, dim_t width, float deviation)
    : weight_(table.add_matrix(prefix + "weight", context, width, Init::normal(deviation))) {}

void PositionEmbedding::forward(Weights weights, const PackedLayout& layout, MatrixF y) const {
  if (layout.steps() > context()) {
    throw DataError(fmt::format(
        "a sequence of {} tokens, but the model has learned positions for {}: use a context of at "
        "most {}",
        layout.steps(), context(), context()));
  }
  const ConstMatrixF positions = weights(weight_);
  for_each_row(layout, [&](dim_t t, dim_t i) { add_row(positions.row(t), y.cols, y.row(i)); });
}

void PositionEmbedding::backward(const PackedLayout& layout, ConstMatrixF dy,
                                 Gradients gradients) const {
  const MatrixF d_positions = gradients(weight_);
  for_each_row(layout, [&](dim_t t, dim_t i) { add_row(dy.row(i), dy.cols, d_positions.row(t)); });
}

}  // namespace dsf
