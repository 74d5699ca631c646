#include "dsf/layers/attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsf/base/error.h"
#include "dsf/kernels/causal_attention.h"
#include "dsf/kernels/parallel.h"
#include "dsf/layers/workspace_pool.h"

namespace dsf {
namespace {

/// Dense matrices of one sequence and head.
struct HeadWorkspace {
  Matrix q, k, v, o;       // [T, d]; backward, o holds its gradient
  Matrix dq, dk, dv;       // [T, d]
  Buffer<float> lse;       // [T]
  Buffer<float> scores;    // [kAttentionTile, T]
  Buffer<float> d_scores;  // [kAttentionTile, T]
};

struct AttentionTape final : MixerTape {
  Matrix qkv;  // [N, 3D]; backward, its gradient
  Matrix lse;  // [N, heads]
  LinearScratch linear;
  WorkspacePool<HeadWorkspace> workspaces;
};

/// The rows (0..T-1, b) of a packed matrix, columns [begin, begin + count).
struct SequenceColumns {
  const PackedLayout& layout;
  dim_t b;

  template <typename T>
  T* place(MatrixView<T> packed, dim_t t, dim_t begin) const {
    return packed.row(layout.offset(t) + b) + begin;
  }

  ConstMatrixF gather(ConstMatrixF packed, dim_t begin, dim_t count, Matrix& dense) const {
    const MatrixF target = dense.reshape(layout.length(b), count);
    for (dim_t t = 0; t < target.rows; ++t) {
      std::copy_n(place(packed, t, begin), count, target.row(t));
    }
    return target;
  }

  void scatter(ConstMatrixF dense, dim_t begin, MatrixF packed) const {
    for (dim_t t = 0; t < dense.rows; ++t) {
      std::copy_n(dense.row(t), dense.cols, place(packed, t, begin));
    }
  }
};

}  // namespace

Attention::Attention(ParameterTable& table, const std::string& prefix, dim_t width, dim_t heads,
                     float deviation)
    : width_(width),
      heads_(heads),
      qkv_(table, prefix + "qkv.", width, 3 * width, Init::normal(deviation)) {
  if (heads < 1 || width % heads != 0) {
    throw ConfigError(fmt::format(
        "attention of {} heads over {} hidden units: the number of units must be a multiple of the "
        "number of heads",
        heads, width));
  }
}

// HeadWorkspace, after a backward pass.
dim_t Attention::workspace_numbers(dim_t steps, dim_t head_width) {
  return steps * (7 * head_width + 1 + 2 * kAttentionTile);
}

std::unique_ptr<MixerTape> Attention::make_tape() const {
  return std::make_unique<AttentionTape>();
}

void Attention::prepare(Weights weights, Precision precision) { qkv_.prepare(weights, precision); }

void Attention::forward(const PackedLayout& layout, ConstMatrixF x, MatrixF /*state*/,
                        MixerTape& tape, MatrixF y) const {
  auto& mine = static_cast<AttentionTape&>(tape);
  const MatrixF qkv = mine.qkv.reshape(x.rows, 3 * width_);
  qkv_.forward(x, mine.linear, qkv);

  const MatrixF lse = mine.lse.reshape(x.rows, heads_);
  const dim_t d = width_ / heads_;
  parallel_for(layout.batch() * heads_, [&](dim_t task) {
    const SequenceColumns sequence{layout, task / heads_};
    const dim_t head = task % heads_;
    const dim_t steps = layout.length(sequence.b);
    const auto lease = mine.workspaces.borrow();
    HeadWorkspace& work = *lease;
    work.lse.ensure(steps);
    work.scores.ensure(kAttentionTile * steps);

    const ConstMatrixF q = sequence.gather(qkv, head * d, d, work.q);
    const ConstMatrixF k = sequence.gather(qkv, width_ + head * d, d, work.k);
    const ConstMatrixF v = sequence.gather(qkv, 2 * width_ + head * d, d, work.v);
    const MatrixF o = work.o.reshape(steps, d);
    causal_attention_forward(q, k, v, work.scores.data(), work.lse.data(), o);
    sequence.scatter(o, head * d, y);
    sequence.scatter(ConstMatrixF(work.lse.data(), steps, 1), head, lse);
  });
}

void Attention::backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape, MatrixF dy,
                         MatrixF dx, Gradients gradients) const {
  auto& mine = static_cast<AttentionTape&>(tape);
  const MatrixF qkv = mine.qkv;
  const ConstMatrixF lse = mine.lse.view();
  const dim_t d = width_ / heads_;
  parallel_for(layout.batch() * heads_, [&](dim_t task) {
    const SequenceColumns sequence{layout, task / heads_};
    const dim_t head = task % heads_;
    const dim_t steps = layout.length(sequence.b);
    const auto lease = mine.workspaces.borrow();
    HeadWorkspace& work = *lease;
    work.lse.ensure(steps);
    work.scores.ensure(kAttentionTile * steps);
    work.d_scores.ensure(kAttentionTile * steps);

    const ConstMatrixF q = sequence.gather(qkv, head * d, d, work.q);
    const ConstMatrixF k = sequence.gather(qkv, width_ + head * d, d, work.k);
    const ConstMatrixF v = sequence.gather(qkv, 2 * width_ + head * d, d, work.v);
    const ConstMatrixF d_o = sequence.gather(dy, head * d, d, work.o);
    for (dim_t t = 0; t < steps; ++t) work.lse[t] = *sequence.place(lse, t, head);
    const AttentionGradients to{work.dq.reshape(steps, d), work.dk.reshape(steps, d),
                                work.dv.reshape(steps, d)};
    causal_attention_backward(q, k, v, work.lse.data(), d_o, work.scores.data(),
                              work.d_scores.data(), to);
    sequence.scatter(to.dq, head * d, qkv);
    sequence.scatter(to.dk, width_ + head * d, qkv);
    sequence.scatter(to.dv, 2 * width_ + head * d, qkv);
  });
  qkv_.backward(x, qkv, mine.linear, dx, gradients);
}

}  // namespace dsf
