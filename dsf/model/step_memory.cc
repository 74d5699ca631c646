#include "dsf/model/step_memory.h"

#include <algorithm>

#include "dsf/cells/cell.h"
#include "dsf/feedback/feedback.h"
#include "dsf/kernels/gemm_operand.h"
#include "dsf/kernels/gemm_tiles.h"
#include "dsf/kernels/parallel.h"
#include "dsf/kernels/softmax.h"
#include "dsf/layers/attention.h"
#include "dsf/layers/chunk_rows.h"
#include "dsf/layers/ema.h"
#include "dsf/layers/mlp.h"
#include "dsf/layers/parameter.h"
#include "dsf/model/parameter_list.h"

namespace dsf {
namespace {

constexpr dim_t kFloat = sizeof(float);
constexpr dim_t kBf16 = 2;
// Weights, gradients, and Adam's moments.
constexpr dim_t kFlatBuffers = 4;

/// Bytes that a row of the batch takes in one layer.
struct RowBytes {
  dim_t f32 = 0;      // numbers kept in f32
  dim_t operand = 0;  // numbers that bf16 GEMMs read from a copy

  double bytes(Precision precision) const {
    return static_cast<double>(kFloat * f32 + (precision == Precision::bf16 ? kBf16 * operand : 0));
  }
};

RowBytes& operator+=(RowBytes& sum, const RowBytes& more) {
  sum.f32 += more.f32;
  sum.operand += more.operand;
  return sum;
}

/// What a mixer keeps.
struct MixerMemory {
  RowBytes kept = {};          // of each row, in every layer
  RowBytes work = {};          // the same, or once if layers share it (model.recompute)
  dim_t numbers = 0;           // beside them in every layer, in f32
  dim_t output = 0;            // columns of what it hands on
  bool state_product = false;  // the recurrent matrices are packed for the way back too
};

// CellTape's states, CellWork, and what the feedback keeps.
MixerMemory recurrent_memory(const ModelConfig& config, const FeedbackConfig& feedback_config,
                             const BatchShape& batch) {
  const auto cell =
      make_cell(cell_of(config.mixer).value(), config.reset, config.hidden, config.hidden);
  const CellShape& shape = cell->shape();
  const dim_t D = shape.hidden;
  const dim_t S = shape.state;
  // Whatever it draws, it takes as much memory.
  const auto feedback = make_feedback(feedback_config, S, 0, "estimate");
  const JacobianUse use = feedback->jacobian_use();
  RowBytes work = {shape.tape_stride(), D + shape.tape + D};
  if (!batch.uniform) work.f32 += S;  // gathered
  if (use.trial) work.f32 += shape.tape;
  return {.kept = {S, 0},
          .work = work,
          .numbers = feedback->workspace_numbers({batch.rows, S, batch.steps, batch.batch}),
          .output = S,
          .state_product = use.needed};
}

// A workspace a thread, for the longest sequences.
dim_t attention_numbers(dim_t hidden, const BatchShape& batch) {
  constexpr dim_t kHeads = Attention::kDefaultHeads;
  const dim_t at_once = std::min<dim_t>(thread_count(), batch.batch * kHeads);
  return at_once * Attention::workspace_numbers(batch.steps, hidden / kHeads);
}

MixerMemory mixer_memory(const ModelConfig& config, const FeedbackConfig& feedback,
                         const BatchShape& batch) {
  const dim_t D = config.hidden;
  if (config.mixer == MixerKind::attention) {
    return {.kept = {3 * D + Attention::kDefaultHeads, D + 3 * D},
            .numbers = attention_numbers(D, batch),
            .output = D};
  }
  if (config.mixer == MixerKind::ema) {
    const dim_t E = Ema::default_channels(D);
    return {.kept = {3 * E, D + 2 * E}, .output = E};
  }
  return recurrent_memory(config, feedback, batch);
}

// PlainBlock's and TransformerBlock's tapes.
RowBytes block_row(const ModelConfig& config, dim_t mixed) {
  const dim_t D = config.hidden;
  if (config.block == BlockKind::transformer) {
    return {D + mixed + D + Mlp::kExpansion * D, mixed + D};
  }
  if (mixed != D) return {2 * mixed, mixed + D};
  return {config.skip ? D : 0, 0};
}

double chunk_bytes(const ModelConfig& config, dim_t vocab, dim_t rows, Precision precision) {
  const dim_t D = config.hidden;
  RowBytes row = {vocab + vocab / kGradientGroup, vocab + D};  // the head
  if (config.block == BlockKind::transformer) {
    const dim_t inner = Mlp::kExpansion * D;
    const RowBytes mlp = {2 * D + 2 * inner, 2 * (D + inner)};
    for (dim_t i = 0; i < config.layers; ++i) row += mlp;
  }
  return static_cast<double>(std::min(rows, kChunkRows)) * row.bytes(precision);
}

bool is_multiplied(const ParameterInfo& parameter) {
  return !parameter.vector && parameter.name.find("weight") != std::string::npos &&
         !parameter.name.starts_with("embedding.") && !parameter.name.starts_with("positions.");
}

// PackedWeights of one matrix in one direction: panels with room between their rows, or, for matrix
// units, the rounded matrix and its panels.
double packed_bytes(const ParameterInfo& parameter, Precision precision) {
  constexpr double kSpread =
      static_cast<double>(copy_stride(kPanelCols)) / static_cast<double>(kPanelCols);
  const auto numbers = static_cast<double>(parameter.id.size());
  const bool on_units = precision == Precision::bf16 && has_fast_bf16();
  return numbers * (on_units ? 2.0 * kBf16 : kSpread * kFloat);
}

/// Matrices for both directions; the recurrent ones backward only if the feedback needs it.
double packed_weights(const ParameterTable& table, bool state_product, Precision precision) {
  double bytes = 0.0;
  for (const ParameterInfo& parameter : table.entries()) {
    if (!is_multiplied(parameter)) continue;
    const bool forward_only = parameter.name.ends_with("weight_hh") && !state_product;
    bytes += (forward_only ? 1.0 : 2.0) * packed_bytes(parameter, precision);
  }
  return bytes;
}

// Partial sums of the deepest weight gradient (gemm): one buffer, as large as the largest needs.
double gradient_scratch(const ParameterTable& table, dim_t rows) {
  constexpr dim_t kDeepest = dim_t{1} << 30U;  // the parts are as many as they can be long before
  dim_t most = 0;
  for (const ParameterInfo& parameter : table.entries()) {
    if (!is_multiplied(parameter)) continue;
    const bool chunked =
        parameter.name.starts_with("head.") || parameter.name.find(".mlp.") != std::string::npos;
    const dim_t depth = chunked ? std::min(rows, kChunkRows) : std::min(rows, kDeepest);
    const DepthParts parts = choose_depth_parts(parameter.id.rows, parameter.id.cols, depth);
    most = std::max(most, (parts.count - 1) * parameter.id.size());
  }
  return static_cast<double>(kFloat * most);
}

}  // namespace

double step_memory(const ModelConfig& config, const FeedbackConfig& feedback, dim_t vocab,
                   const BatchShape& shape, Precision precision) {
  const ParameterTable table = parameter_list(config, feedback, vocab);
  const MixerMemory mixer = mixer_memory(config, feedback, shape);
  RowBytes layer = mixer.kept;
  layer += block_row(config, mixer.output);

  // Activations between blocks, and the gradients of two of them.
  const dim_t between = (config.layers + 3) * config.hidden;
  const dim_t norm = config.block == BlockKind::transformer ? config.hidden : 0;
  constexpr dim_t kIds = 3 * sizeof(dim_t);  // a row's input, target and place by token
  const dim_t works = config.recompute ? 1 : config.layers;
  const double row = static_cast<double>(config.layers) * layer.bytes(precision) +
                     static_cast<double>(works) * mixer.work.bytes(precision) +
                     static_cast<double>(kFloat * (between + norm) + kIds);

  return static_cast<double>(kFlatBuffers * kFloat * table.flat_size()) +
         packed_weights(table, mixer.state_product, precision) +
         gradient_scratch(table, shape.rows) + static_cast<double>(shape.rows) * row +
         static_cast<double>(config.layers * kFloat) * static_cast<double>(mixer.numbers) +
         chunk_bytes(config, vocab, shape.rows, precision);
}

}  // namespace dsf
