#pragma once

// Causal multi-head self-attention (Vaswani et al., 2017; GPT-2), without its output projection,
// which is the block's Proj.
//
//   [q, k, v] = x Wqkv^T + b                              Wqkv [3D, D]
//   y_h = softmax(q_h k_h^T / sqrt(D/heads)) v_h          row (t, b) looks at the rows (0..t, b)
//   y = [y_1, ..., y_heads]
//
// It has no notion of position: the model adds learned positions to the embedded tokens.
//
// Memory is linear in the context: the tape holds q, k, v and one log-sum-exp a row and head. Each
// (sequence, head) pair is one task, which gathers its part of q, k, v into dense matrices and goes
// through tiles of queries (kernels/causal_attention). The backward pass overwrites q, k, v on the
// tape by their gradients, so it runs once after a forward pass. The products inside a head are f32
// in every precision: they are few beside the linear maps, and the softmax wants them exact.

#include <memory>
#include <string>

#include "dsf/layers/linear.h"
#include "dsf/layers/mixer.h"

namespace dsf {

/// Causal self-attention in a recurrent layer's place; it has no state to carry.
class Attention final : public Mixer {
 public:
  static constexpr dim_t kDefaultHeads = 8;

  /// Adds `<prefix>qkv.*` [3D, D] to the table, normal with `deviation`. Throws ConfigError if
  /// the heads do not divide the width.
  Attention(ParameterTable& table, const std::string& prefix, dim_t width, dim_t heads,
            float deviation);

  /// Numbers of scratch memory for sequences of `steps`, in each thread that works on a head of
  /// `head_width`.
  static dim_t workspace_numbers(dim_t steps, dim_t head_width);

  dim_t output_width() const override { return width_; }
  dim_t state_width() const override { return 0; }
  std::unique_ptr<MixerTape> make_tape() const override;

  /// `state` is ignored: there is none to carry.
  void forward(Weights weights, const PackedLayout& layout, ConstMatrixF x, MatrixF state,
               MixerTape& tape, MatrixF y) override;
  void backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape, MatrixF dy, MatrixF dx,
                Gradients gradients) override;

 private:
  dim_t width_;
  dim_t heads_;
  Linear qkv_;
};

}  // namespace dsf
