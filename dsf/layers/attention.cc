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

/// One head of one sequence, with its part of qkv [N, 3D] in a workspace.
struct Head {
  Head(const PackedLayout& layout, dim_t task, dim_t heads, ConstMatrixF qkv, HeadWorkspace& work)
      : sequence{layout, task / heads},
        index(task % heads),
        steps(layout.length(sequence.b)),
        d(qkv.cols / 3 / heads),
        q_column(index * d),
        k_column(heads * d + q_column),
        v_column(heads * d + k_column),
        q(sequence.gather(qkv, q_column, d, work.q)),
        k(sequence.gather(qkv, k_column, d, work.k)),
        v(sequence.gather(qkv, v_column, d, work.v)) {
    work.lse.ensure(steps);
    work.scores.ensure(kAttentionTile * steps);
  }

  SequenceColumns sequence;
  dim_t index;
  dim_t steps;     // T
  dim_t d;         // the head's width
  dim_t q_column;  // in qkv; the head's output has the same place in y [N, D]
  dim_t k_column;
  dim_t v_column;
  ConstMatrixF q, k, v;  // [T, d]
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

void Attention::forward(Weights weights, const PackedLayout& layout, ConstMatrixF x,
                        MatrixF /*state*/, MixerTape& tape, MatrixF y) {
  auto& mine = static_cast<AttentionTape&>(tape);
  const MatrixF qkv = mine.qkv.reshape(x.rows, 3 * width_);
  qkv_.forward(weights, x, mine.linear, qkv);

  const MatrixF lse = mine.lse.reshape(x.rows, heads_);
  parallel_for(layout.batch() * heads_, [&](dim_t task) {
    const auto lease = mine.workspaces.borrow();
    HeadWorkspace& work = *lease;
    const Head head(layout, task, heads_, qkv, work);
    const MatrixF o = work.o.reshape(head.steps, head.d);
    causal_attention_forward(head.q, head.k, head.v, work.scores.data(), work.lse.data(), o);
    head.sequence.scatter(o, head.q_column, y);
    head.sequence.scatter(ConstMatrixF(work.lse.data(), head.steps, 1), head.index, lse);
  });
}

void Attention::backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape, MatrixF dy,
                         MatrixF dx, Gradients gradients) {
  auto& mine = static_cast<AttentionTape&>(tape);
  const MatrixF qkv = mine.qkv;
  const ConstMatrixF lse = mine.lse.view();
  parallel_for(layout.batch() * heads_, [&](dim_t task) {
    const auto lease = mine.workspaces.borrow();
    HeadWorkspace& work = *lease;
    const Head head(layout, task, heads_, qkv, work);
    const ConstMatrixF d_o = head.sequence.gather(dy, head.q_column, head.d, work.o);
    for (dim_t t = 0; t < head.steps; ++t) {
      work.lse[t] = *head.sequence.place(lse, t, head.index);
    }
    work.d_scores.ensure(kAttentionTile * head.steps);
    const AttentionGradients to{.dq = work.dq.reshape(head.steps, head.d),
                                .dk = work.dk.reshape(head.steps, head.d),
                                .dv = work.dv.reshape(head.steps, head.d)};
    causal_attention_backward(head.q, head.k, head.v, work.lse.data(), d_o, work.scores.data(),
                              work.d_scores.data(), to);
    head.sequence.scatter(to.dq, head.q_column, qkv);
    head.sequence.scatter(to.dk, head.k_column, qkv);
    head.sequence.scatter(to.dv, head.v_column, qkv);
  });
  qkv_.backward(x, qkv, mine.linear, dx, gradients);
}

}  // namespace dsf
