#include "dsf/layers/plain_block.h"

#include <utility>

#include "dsf/kernels/elementwise.h"

namespace dsf {
namespace {

struct PlainBlockTape final : MixerTape {
  std::unique_ptr<MixerTape> mixer;
  Matrix mixed;    // [N, mixer's width]: the mixer's output, if a projection follows
  Matrix d_mixed;  // its gradient; without a projection, the copy of dy that the mixer may destroy
  LinearScratch projection;
};

}  // namespace

PlainBlock::PlainBlock(ParameterTable& table, const std::string& prefix, dim_t width, bool skip,
                       float projection_deviation, std::unique_ptr<Mixer> mixer)
    : width_(width), skip_(skip), mixer_(std::move(mixer)) {
  if (mixer_->output_width() != width) {
    projection_.emplace(table, prefix + "proj.", mixer_->output_width(), width,
                        Init::normal(projection_deviation));
  }
}

std::unique_ptr<MixerTape> PlainBlock::make_tape() const {
  auto tape = std::make_unique<PlainBlockTape>();
  tape->mixer = mixer_->make_tape();
  return tape;
}

void PlainBlock::forward(Weights weights, const PackedLayout& layout, ConstMatrixF x, MatrixF state,
                         MixerTape& tape, MatrixF y) {
  auto& mine = static_cast<PlainBlockTape&>(tape);
  if (projection_) {
    const MatrixF mixed = mine.mixed.reshape(x.rows, mixer_->output_width());
    mixer_->forward(weights, layout, x, state, *mine.mixer, mixed);
    projection_->forward(weights, mixed, mine.projection, y);
  } else {
    mixer_->forward(weights, layout, x, state, *mine.mixer, y);
  }
  if (skip_) add(x, y);
}

void PlainBlock::backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape, MatrixF dy,
                          MatrixF dx, Gradients gradients) {
  auto& mine = static_cast<PlainBlockTape&>(tape);
  MatrixF d_mixed = dy;
  if (projection_) {
    d_mixed = mine.d_mixed.reshape(x.rows, mixer_->output_width());
    projection_->backward(mine.mixed, dy, mine.projection, d_mixed, gradients);
  } else if (skip_) {
    d_mixed = mine.d_mixed.reshape(x.rows, width_);
    copy(dy, d_mixed);
  }
  mixer_->backward(layout, x, *mine.mixer, d_mixed, dx, gradients);
  if (skip_) add(dy, dx);
}

}  // namespace dsf
