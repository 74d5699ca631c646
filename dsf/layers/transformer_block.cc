#include "dsf/layers/transformer_block.h"

#include <utility>

#include "dsf/kernels/elementwise.h"
#include "dsf/layers/chunk_rows.h"

namespace dsf {

struct TransformerBlock::Tape final : MixerTape {
  std::unique_ptr<MixerTape> mixer;
  LayerNormTape norm1;
  LayerNormTape norm2;
  Matrix normed;          // [N, D]: LN1(x)
  Matrix mixed;           // [N, mixer's width]: the mixer's output; backward, its gradient
  Matrix u;               // [N, D]
  Matrix p;               // [N, 4D]: the MLP's pre-activations
  Matrix normed_chunk;    // [chunk, D]: LN2(u)
  Matrix d_normed_chunk;  // [chunk, D]
  LinearScratch projection;
  MlpScratch mlp;
  Buffer<float> norm_work;
};

TransformerBlock::TransformerBlock(ParameterTable& table, const std::string& prefix, dim_t width,
                                   bool skip, float deviation, float projection_deviation,
                                   std::unique_ptr<Mixer> mixer)
    : skip_(skip),
      mixer_(std::move(mixer)),
      norm1_(table, prefix + "norm1.", width),
      projection_(table, prefix + "proj.", mixer_->output_width(), width,
                  Init::normal(projection_deviation)),
      norm2_(table, prefix + "norm2.", width),
      mlp_(table, prefix + "mlp.", width, deviation, projection_deviation) {}

std::unique_ptr<MixerTape> TransformerBlock::make_tape() const {
  auto tape = std::make_unique<Tape>();
  tape->mixer = mixer_->make_tape();
  return tape;
}

void TransformerBlock::forward(Weights weights, const PackedLayout& layout, ConstMatrixF x,
                               MatrixF state, MixerTape& tape, MatrixF y) {
  auto& mine = static_cast<Tape&>(tape);
  mine.norm1.reshape(x.rows);
  const MatrixF normed = mine.normed.reshape(x.rows, x.cols);
  norm1_.forward(weights, x, mine.norm1.from_row(0), normed);

  const MatrixF mixed = mine.mixed.reshape(x.rows, mixer_->output_width());
  mixer_->forward(weights, layout, normed, state, *mine.mixer, mixed);

  const MatrixF u = mine.u.reshape(x.rows, x.cols);
  projection_.forward(weights, mixed, mine.projection, u);
  if (skip_) add(x, u);
  forward_mlp(weights, mine, y);
}

void TransformerBlock::forward_mlp(Weights weights, Tape& tape, MatrixF y) {
  tape.norm2.reshape(y.rows);
  const MatrixF p = tape.p.reshape(y.rows, mlp_.inner_width());
  for_each_chunk(y.rows, [&](dim_t begin, dim_t count) {
    const MatrixF normed = tape.normed_chunk.reshape(count, y.cols);
    norm2_.forward(weights, tape.u.view().middle_rows(begin, count), tape.norm2.from_row(begin),
                   normed);
    mlp_.forward(weights, normed, tape.mlp, p.middle_rows(begin, count),
                 y.middle_rows(begin, count));
  });
  if (skip_) add(tape.u, y);
}

// dy -> du in place.
void TransformerBlock::backward_mlp(Tape& tape, MatrixF dy, Gradients gradients) const {
  for_each_chunk(dy.rows, [&](dim_t begin, dim_t count) {
    const ConstMatrixF u = tape.u.view().middle_rows(begin, count);
    const LayerNormStatistics statistics = tape.norm2.from_row(begin);
    const MatrixF normed = tape.normed_chunk.reshape(count, dy.cols);
    norm2_.repeat_forward(u, statistics, normed);

    const MatrixF dy_chunk = dy.middle_rows(begin, count);
    const MatrixF du = skip_ ? tape.d_normed_chunk.reshape(count, dy.cols) : dy_chunk;
    mlp_.backward(normed, tape.p.view().middle_rows(begin, count), dy_chunk, tape.mlp, du,
                  gradients);
    norm2_.backward(du, u, statistics, tape.norm_work, du, gradients);
    if (skip_) add(du, dy_chunk);
  });
}

void TransformerBlock::backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape,
                                MatrixF dy, MatrixF dx, Gradients gradients) {
  auto& mine = static_cast<Tape&>(tape);
  backward_mlp(mine, dy, gradients);
  const MatrixF du = dy;

  const MatrixF d_mixed = mine.mixed;  // over the mixer's output, which is not needed any more
  projection_.backward(mine.mixed, du, mine.projection, d_mixed, gradients);
  mixer_->backward(layout, mine.normed, *mine.mixer, d_mixed, dx, gradients);
  norm1_.backward(dx, x, mine.norm1.from_row(0), mine.norm_work, dx, gradients);
  if (skip_) add(du, dx);
}

}  // namespace dsf
