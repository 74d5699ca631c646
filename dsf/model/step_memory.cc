#include "dsf/model/step_memory.h"

#include <algorithm>

#include "dsf/cells/cell.h"
#include "dsf/feedback/feedback_method.h"
#include "dsf/feedback/feedback_registry.h"
#include "dsf/kernels/diagonal_scan.h"
#include "dsf/kernels/gemm_operand.h"
#include "dsf/kernels/gemm_tiles.h"
#include "dsf/kernels/parallel.h"
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

  dim_t bytes(Precision precision) const {
    return kFloat * f32 + (precision == Precision::bf16 ? kBf16 * operand : 0);
  }
};

RowBytes& operator+=(RowBytes& sum, const RowBytes& more) {
  sum.f32 += more.f32;
  sum.operand += more.operand;
  return sum;
}

/// A mixer: its rows and the width of what it hands on.
struct MixerRow {
  RowBytes kept;  // in every layer
  RowBytes work;  // in every layer, or once where layers share it (model.recompute)
  dim_t output = 0;
};

// CellTape's states, CellWork, and FeedbackWorkspace.
MixerRow recurrent_row(const ModelConfig& config, const FeedbackMethod& method, bool uniform) {
  const CellShape shape = make_cell(parse_cell_kind(config.mixer), parse_gru_reset(config.reset),
                                    config.hidden, config.hidden)
                              ->shape();
  const dim_t D = shape.hidden;
  const dim_t KD = shape.gates * D;
  const dim_t S = shape.state;
  const dim_t E = config.mixer == "gru" ? D : 0;  // CellWork::extra
  RowBytes kept = {S, 0};
  RowBytes work = {KD + E, D + KD + D + E};
  if (config.mixer == "gru" && config.reset == "before") work.f32 += E;  // d_extra
  if (!uniform) work.f32 += S;                                           // gathered
  switch (method.kind) {
    case FeedbackKind::iterated:
      if (method.number == 0) break;
      work.f32 += KD + E;  // trial
      kept.f32 += 2 * S;   // errors, rest
      break;
    case FeedbackKind::fitted:
    case FeedbackKind::adaptive:
    case FeedbackKind::learned:
      kept.f32 += S;  // errors
      break;
    case FeedbackKind::dense:
    case FeedbackKind::orthogonal:
      kept.f32 += S;  // rest: the product under way
      break;
    default:
      break;
  }
  return {kept, work, S};
}

MixerRow mixer_row(const ModelConfig& config, const FeedbackMethod& method, bool uniform) {
  const dim_t D = config.hidden;
  if (config.mixer == "attention") return {{3 * D + Attention::kDefaultHeads, D + 3 * D}, {}, D};
  if (config.mixer == "ema") {
    const dim_t E = Ema::default_channels(D);
    return {{3 * E, D + 2 * E}, {}, E};
  }
  return recurrent_row(config, method, uniform);
}

// PlainBlock's and TransformerBlock's tapes.
RowBytes block_row(const ModelConfig& config, dim_t mixed) {
  const dim_t D = config.hidden;
  if (config.block == "transformer") {
    return {D + mixed + D + Mlp::kExpansion * D, mixed + D};
  }
  if (mixed != D) return {2 * mixed, mixed + D};
  return {config.skip ? D : 0, 0};
}

// What a layer's mixer keeps for the longest sequences, whatever the rows: attention a workspace a
// thread, the FFT form of a diagonal scan its spectra.
dim_t sequence_bytes(const ModelConfig& config, const FeedbackConfig& feedback,
                     const FeedbackMethod& method, dim_t state, const BatchShape& shape) {
  if (config.mixer == "attention") {
    constexpr dim_t kHeads = Attention::kDefaultHeads;
    const dim_t at_once = std::min<dim_t>(thread_count(), shape.batch * kHeads);
    return kFloat * at_once * Attention::workspace_numbers(shape.steps, config.hidden / kHeads);
  }
  const bool scans = config.mixer != "ema" &&
                     (method.kind == FeedbackKind::dsf || learns_from_batches(feedback.method));
  return scans && feedback.scan == "fft" ? kFloat * fft_scan_numbers(shape.steps, state) : 0;
}

dim_t chunk_bytes(const ModelConfig& config, dim_t vocab, dim_t rows, Precision precision) {
  const dim_t D = config.hidden;
  RowBytes row = {vocab, vocab + D};  // the head
  if (config.block == "transformer") {
    const dim_t inner = Mlp::kExpansion * D;
    const RowBytes mlp = {2 * D + 2 * inner, 2 * (D + inner)};
    for (dim_t i = 0; i < config.layers; ++i) row += mlp;
  }
  return std::min(rows, kChunkRows) * row.bytes(precision);
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

/// Matrices for both directions; the recurrent ones backward only where the feedback needs it.
double packed_weights(const ParameterTable& table, bool exact, Precision precision) {
  double bytes = 0.0;
  for (const ParameterInfo& parameter : table.entries()) {
    if (!is_multiplied(parameter)) continue;
    const bool forward_only = parameter.name.ends_with("weight_hh") && !exact;
    bytes += (forward_only ? 1.0 : 2.0) * packed_bytes(parameter, precision);
  }
  return bytes;
}

// Partial sums of the deepest weight gradient (gemm): one buffer, as large as the largest needs.
double gradient_scratch(const ParameterTable& table, dim_t rows) {
  dim_t most = 0;
  for (const ParameterInfo& parameter : table.entries()) {
    if (!is_multiplied(parameter)) continue;
    const bool chunked =
        parameter.name.starts_with("head.") || parameter.name.find(".mlp.") != std::string::npos;
    const dim_t depth = chunked ? std::min(rows, kChunkRows) : rows;
    const DepthParts parts = choose_copied_grid(parameter.id.rows, parameter.id.cols, depth).parts;
    most = std::max(most, (parts.count - 1) * parameter.id.size());
  }
  return static_cast<double>(kFloat * most);
}

// A feedback from outside is taken to need what BPTT needs.
FeedbackMethod method_of(const FeedbackConfig& feedback) {
  if (registered_feedback(feedback.method) != nullptr) return {FeedbackKind::bptt};
  return parse_feedback_method(feedback.method);
}

bool needs_jacobian(const FeedbackMethod& method) {
  switch (method.kind) {
    case FeedbackKind::bptt:
    case FeedbackKind::fitted:
    case FeedbackKind::adaptive:
    case FeedbackKind::learned:
      return true;
    case FeedbackKind::iterated:
      return method.number > 0;
    default:
      return false;
  }
}

}  // namespace

double step_memory(const ModelConfig& config, const FeedbackConfig& feedback, dim_t vocab,
                   const BatchShape& shape, Precision precision) {
  const FeedbackMethod method = method_of(feedback);
  const ParameterTable table = parameter_list(config, feedback, vocab);
  const MixerRow mixer = mixer_row(config, method, shape.uniform);
  RowBytes layer = mixer.kept;
  layer += block_row(config, mixer.output);

  // Activations between blocks, and the gradients of two of them.
  const dim_t between = (config.layers + 3) * config.hidden;
  const dim_t norm = config.block == "transformer" ? config.hidden : 0;
  constexpr dim_t kIds = 3 * sizeof(dim_t);  // a row's input, target and place by token
  const dim_t works = config.recompute ? 1 : config.layers;
  const dim_t row = config.layers * layer.bytes(precision) + works * mixer.work.bytes(precision) +
                    kFloat * (between + norm) + kIds;

  return static_cast<double>(kFlatBuffers * kFloat * table.flat_size()) +
         packed_weights(table, needs_jacobian(method), precision) +
         gradient_scratch(table, shape.rows) + static_cast<double>(shape.rows * row) +
         static_cast<double>(config.layers *
                             sequence_bytes(config, feedback, method, mixer.output, shape)) +
         static_cast<double>(chunk_bytes(config, vocab, shape.rows, precision));
}

}  // namespace dsf
