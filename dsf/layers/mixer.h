#pragma once

// A mixer is the part of a block that looks along time: a recurrent layer, attention, a damped EMA.
//
// Life of one training step:
//   forward   packs the weights if they have changed; fills y and the tape
//   backward  reads x, the tape and dy; fills dx; accumulates parameter gradients

#include <memory>
#include <vector>

#include "dsf/base/named_buffer.h"
#include "dsf/base/packed_layout.h"
#include "dsf/layers/parameter.h"

namespace dsf {

/// What a mixer's backward pass needs from its forward pass. Owned by the caller, reused from step
/// to step: its buffers grow to the largest batch and stay.
class MixerTape {
 public:
  virtual ~MixerTape() = default;
};

/// One layer that maps [N, input] to [N, output_width] along time. Blocks are mixers too. For one
/// caller at a time: a layer keeps the weights that its forward pass packed.
class Mixer {
 public:
  virtual ~Mixer() = default;

  virtual dim_t output_width() const = 0;
  /// Width of the state carried from one batch to the next; 0 if there is none to carry.
  virtual dim_t state_width() const = 0;
  virtual std::unique_ptr<MixerTape> make_tape() const = 0;
  virtual std::vector<NamedBuffer> buffers() { return {}; }

  /// x [N, input], y [N, output_width] overwritten. `state` [B, state_width]: on entry each
  /// sequence's initial state, on return its last one; an empty view starts from zero and returns
  /// nothing.
  virtual void forward(Weights weights, const PackedLayout& layout, ConstMatrixF x, MatrixF state,
                       MixerTape& tape, MatrixF y) = 0;

  /// With the weights of the last forward pass. dy [N, output_width] is used as scratch and
  /// destroyed. dx [N, input] overwritten. No gradient flows into the initial state: a carried state
  /// is a constant.
  virtual void backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape, MatrixF dy,
                        MatrixF dx, Gradients gradients) = 0;
};

}  // namespace dsf
