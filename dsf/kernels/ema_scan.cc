#include "dsf/kernels/ema_scan.h"

#include <algorithm>

#include "dsf/kernels/parallel.h"
#include "dsf/kernels/rows.h"

#ifndef DSF_KERNELS_EMA_SCAN_ONCE
#define DSF_KERNELS_EMA_SCAN_ONCE
namespace dsf {
namespace {

// Channels of one task: the states and coefficients of 16 dimensions stay in the first-level cache,
// and the task reads whole cache lines of each row.
constexpr dim_t kChannels = 64;
// Sequences are dealt out to at most so many tasks a channel block; each keeps its own partial sums
// of the coefficients' gradients.
constexpr dim_t kMaxGroups = 16;

// N numbers for each channel of a block.
struct Block {
  alignas(64) float at[kEmaMaxDims][kChannels];
};

struct Range {
  dim_t begin = 0;
  dim_t count = 0;
};

void clear(dim_t dims, Block& block) { std::fill_n(&block.at[0][0], dims * kChannels, 0.0F); }

void load(ConstMatrixF from, Range channels, Block& block) {
  for (dim_t n = 0; n < from.rows; ++n) {
    std::copy_n(from.row(n) + channels.begin, channels.count, block.at[n]);
  }
}

void store(const Block& block, Range channels, MatrixF to) {
  for (dim_t n = 0; n < to.rows; ++n) {
    std::copy_n(block.at[n], channels.count, to.row(n) + channels.begin);
  }
}

// What the passes over one sequence read: its rows are (t, b), its channels those of the block.
struct SequenceBlock {
  const PackedLayout& layout;
  dim_t b;
  Range channels;
  dim_t dims;
  const Block& q;
  const Block& k;
  const float* omega;  // of the block's channels

  template <typename T>
  T* at(MatrixView<T> packed, dim_t t) const {
    return packed.row(layout.offset(t) + b) + channels.begin;
  }
};

// Sums over the sequences of a task.
struct BlockGradients {
  Block dq;  // without its factor k
  Block dk;
  float domega[kChannels];
};

}  // namespace
}  // namespace dsf
#endif  // DSF_KERNELS_EMA_SCAN_ONCE

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/ema_scan.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for every target.
#include "dsf/kernels/simd_loop-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

// s = q s + x;  out = omega x + sum_n k s.  Forwards in time x is v and out is m; backwards x is dm
// and out is dv. x and out may be the same place.
HWY_INLINE void scan_step(const SequenceBlock& block, const float* x, Block& s, float* out) {
  for_each_lane_group(block.channels.count, [&](auto d, dim_t j) HWY_ATTR {
    const auto input = hn::LoadU(d, x + j);
    auto sum = hn::Mul(hn::LoadU(d, block.omega + j), input);
    for (dim_t n = 0; n < block.dims; ++n) {
      const auto next =
          hn::MulAdd(hn::LoadU(d, block.q.at[n] + j), hn::LoadU(d, s.at[n] + j), input);
      hn::StoreU(next, d, s.at[n] + j);
      sum = hn::MulAdd(hn::LoadU(d, block.k.at[n] + j), next, sum);
    }
    hn::StoreU(sum, d, out + j);
  });
}

void scan_forward(const SequenceBlock& block, ConstMatrixF v, Block& s, MatrixF m) {
  const dim_t steps = block.layout.length(block.b);
  for (dim_t t = 0; t < steps; ++t) scan_step(block, block.at(v, t), s, block.at(m, t));
}

void scan_backward(const SequenceBlock& block, ConstMatrixF dm, Block& c, MatrixF dv) {
  for (dim_t t = block.layout.length(block.b); t-- > 0;) {
    scan_step(block, block.at(dm, t), c, block.at(dv, t));
  }
}

// r = q r + s;  s = q s + v;  dq += dm r;  dk += dm s;  domega += dm v
void accumulate_sensitivity(const SequenceBlock& block, ConstMatrixF dm, ConstMatrixF v, Block& s,
                            Block& r, BlockGradients& sums) {
  const dim_t steps = block.layout.length(block.b);
  for (dim_t t = 0; t < steps; ++t) {
    const float* v_row = block.at(v, t);
    const float* dm_row = block.at(dm, t);
    for_each_lane_group(block.channels.count, [&](auto d, dim_t j) HWY_ATTR {
      const auto input = hn::LoadU(d, v_row + j);
      const auto error = hn::LoadU(d, dm_row + j);
      const auto accumulate = [&](auto value, float* sum) HWY_ATTR {
        hn::StoreU(hn::MulAdd(error, value, hn::LoadU(d, sum + j)), d, sum + j);
      };
      accumulate(input, sums.domega);
      for (dim_t n = 0; n < block.dims; ++n) {
        const auto q = hn::LoadU(d, block.q.at[n] + j);
        const auto state = hn::LoadU(d, s.at[n] + j);
        const auto sensitivity = hn::MulAdd(q, hn::LoadU(d, r.at[n] + j), state);
        const auto next = hn::MulAdd(q, state, input);
        hn::StoreU(sensitivity, d, r.at[n] + j);
        hn::StoreU(next, d, s.at[n] + j);
        accumulate(sensitivity, sums.dq.at[n]);
        accumulate(next, sums.dk.at[n]);
      }
    });
  }
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {
namespace {

HWY_EXPORT(scan_forward);
HWY_EXPORT(scan_backward);
HWY_EXPORT(accumulate_sensitivity);

// A sequence's states as [N, E].
template <typename T>
MatrixView<T> states_of(MatrixView<T> state, dim_t b, dim_t dims, dim_t channels) {
  return {state.row(b), dims, channels};
}

Range channel_block(dim_t index, dim_t channels) {
  const dim_t begin = index * kChannels;
  return {begin, std::min(kChannels, channels - begin)};
}

// The partial gradients of one group of sequences in the workspace, laid out as the final ones.
EmaCoefficientGradients partial_gradients(float* work, dim_t group, dim_t dims, dim_t channels) {
  float* mine = work + group * (2 * dims + 1) * channels;
  return {
      {mine, dims, channels}, {mine + dims * channels, dims, channels}, mine + 2 * dims * channels};
}

void add_range(const float* from, Range range, float* to) {
  add_row(from + range.begin, range.count, to + range.begin);
}

// The groups' partial sums are added in order; dq gets its factor k.
void reduce_groups(dim_t groups, const EmaCoefficients& coefficients, float* work,
                   const EmaCoefficientGradients& gradients) {
  const dim_t dims = coefficients.q.rows;
  const dim_t channels = coefficients.q.cols;
  parallel_for(task_count(channels, kChannels), [&](dim_t task) {
    const Range range = channel_block(task, channels);
    for (dim_t n = 0; n < dims; ++n) {
      std::fill_n(gradients.dq.row(n) + range.begin, range.count, 0.0F);
      std::fill_n(gradients.dk.row(n) + range.begin, range.count, 0.0F);
    }
    std::fill_n(gradients.domega + range.begin, range.count, 0.0F);
    for (dim_t group = 0; group < groups; ++group) {
      const EmaCoefficientGradients part = partial_gradients(work, group, dims, channels);
      for (dim_t n = 0; n < dims; ++n) {
        add_range(part.dq.row(n), range, gradients.dq.row(n));
        add_range(part.dk.row(n), range, gradients.dk.row(n));
      }
      add_range(part.domega, range, gradients.domega);
    }
    for (dim_t n = 0; n < dims; ++n) {
      for (dim_t j = range.begin; j < range.begin + range.count; ++j) {
        gradients.dq(n, j) *= coefficients.k(n, j);
      }
    }
  });
}

}  // namespace

void ema_forward(const PackedLayout& layout, const EmaCoefficients& coefficients, ConstMatrixF v,
                 MatrixF state, MatrixF m) {
  const dim_t dims = coefficients.q.rows;
  const dim_t channels = coefficients.q.cols;
  const dim_t blocks = task_count(channels, kChannels);
  parallel_for(layout.batch() * blocks, [&](dim_t task) {
    const dim_t b = task / blocks;
    const Range range = channel_block(task % blocks, channels);
    Block q;
    Block k;
    Block s;
    load(coefficients.q, range, q);
    load(coefficients.k, range, k);
    const SequenceBlock block{layout, b, range, dims, q, k, coefficients.omega + range.begin};
    if (state.empty()) {
      clear(dims, s);
      HWY_DYNAMIC_DISPATCH(scan_forward)(block, v, s, m);
    } else {
      const MatrixF carried = states_of(state, b, dims, channels);
      load(carried, range, s);
      HWY_DYNAMIC_DISPATCH(scan_forward)(block, v, s, m);
      store(s, range, carried);
    }
  });
}

void ema_backward(const PackedLayout& layout, const EmaCoefficients& coefficients,
                  ConstMatrixF initial_state, ConstMatrixF dm, ConstMatrixF v, Buffer<float>& work,
                  MatrixF dv, const EmaCoefficientGradients& gradients) {
  const dim_t dims = coefficients.q.rows;
  const dim_t channels = coefficients.q.cols;
  const dim_t blocks = task_count(channels, kChannels);
  const dim_t groups = std::min(kMaxGroups, layout.batch());
  work.ensure(groups * (2 * dims + 1) * channels);

  parallel_for(groups * blocks, [&](dim_t task) {
    const dim_t group = task / blocks;
    const Range range = channel_block(task % blocks, channels);
    Block q;
    Block k;
    load(coefficients.q, range, q);
    load(coefficients.k, range, k);
    BlockGradients sums;
    clear(dims, sums.dq);
    clear(dims, sums.dk);
    std::fill_n(sums.domega, kChannels, 0.0F);

    // Dealt out in turn: the sequences are sorted by length, so every group gets long and short
    // ones.
    for (dim_t b = group; b < layout.batch(); b += groups) {
      const SequenceBlock block{layout, b, range, dims, q, k, coefficients.omega + range.begin};
      Block s;
      Block r;
      clear(dims, r);
      if (initial_state.empty()) {
        clear(dims, s);
      } else {
        load(states_of(initial_state, b, dims, channels), range, s);
      }
      HWY_DYNAMIC_DISPATCH(accumulate_sensitivity)(block, dm, v, s, r, sums);
      clear(dims, s);
      HWY_DYNAMIC_DISPATCH(scan_backward)(block, dm, s, dv);
    }
    const EmaCoefficientGradients part = partial_gradients(work.data(), group, dims, channels);
    store(sums.dq, range, part.dq);
    store(sums.dk, range, part.dk);
    std::copy_n(sums.domega, range.count, part.domega + range.begin);
  });
  reduce_groups(groups, coefficients, work.data(), gradients);
}

}  // namespace dsf
#endif  // HWY_ONCE
