// Recurrent layers on the memory of PyTorch's tensors: what python/dsf/nn/_native.py calls.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "dsf/base/error.h"
#include "dsf/base/large_pages.h"
#include "dsf/kernels/elementwise.h"
#include "dsf/kernels/host_team.h"
#include "dsf/kernels/parallel.h"
#include "dsf/kernels/rows.h"
#include "python/native/dsf_native.h"
#include "python/native/layer_memory.h"
#include "python/native/status.h"
#include "python/native/tensor_rows.h"

namespace dsf::native {
namespace {

// Rows of one chunk of a forward pass that keeps nothing: enough for a fast product with W, few enough
// that what lies between stays in the cache.
constexpr dim_t kChunkRows = 1024;

// Fewer multiplications take less time than waking a thread.
constexpr dim_t kSerialWork = dim_t{1} << 20U;

PackedLayout layout_of(const dsf_layer& layer) {
  if (layer.batch_sizes == nullptr) return PackedLayout::uniform(layer.steps, layer.batch);
  return PackedLayout(std::vector<dim_t>(layer.batch_sizes, layer.batch_sizes + layer.steps));
}

PackedLayout part_of(const PackedLayout& layout, Steps steps) {
  std::vector<dim_t> rows;
  for (dim_t t = steps.begin; t < steps.end; ++t) rows.push_back(layout.rows_at(t));
  return PackedLayout(std::move(rows));
}

// [h] or [h, c] of all sequences, from and to two tensors.
void load_states(const dsf_states& source, bool bf16, dim_t hidden, MatrixF target) {
  for (dim_t b = 0; b < target.rows; ++b) {
    const dim_t first = b * source.stride;
    load(source.h, first, bf16, hidden, target.row(b));
    if (target.cols > hidden) load(source.c, first, bf16, hidden, target.row(b) + hidden);
  }
}

void store_states(ConstMatrixF source, bool bf16, dim_t hidden, const dsf_states& target) {
  for (dim_t b = 0; b < source.rows; ++b) {
    const dim_t first = b * target.stride;
    store(source.row(b), hidden, bf16, first, target.h);
    if (source.cols > hidden) store(source.row(b) + hidden, hidden, bf16, first, target.c);
  }
}

// Of a result that Python may have allocated anew for this call, so that each of its pages is touched for
// the first time.
void advise_fresh(MatrixF fresh) {
  const dim_t numbers = fresh.rows * fresh.stride;
  advise_large_pages(fresh.data, static_cast<std::size_t>(numbers) * sizeof(float));
}

// One call of a layer.
class Call {
 public:
  explicit Call(const dsf_layer& layer)
      : layer_(layer),
        bf16_(layer.bf16 != 0),
        memory_(LayerMemory::of_this_thread()),
        kind_(memory_.find(layer)),
        shape_(kind_.cell->shape()),
        layout_(layout_of(layer)),
        order_(layout_, layer) {}

  void forward() {
    prepare({.forward = true, .input_gradient = false, .rows = layout_.total_rows()}, {});
    const MatrixF state = memory_.state.reshape(layout_.batch(), shape_.state);
    if (layer_.initial.h == nullptr) {
      zero_rows(state);
    } else {
      load_states(layer_.initial, bf16_, shape_.hidden, state);
    }
    if (layer_.tape != nullptr) {
      const CellTape kept = tape(memory_.work.gates);
      advise_fresh(kept.gates);
      advise_fresh(kept.states);
      advise_fresh(as_matrix(layer_.output, layer_.output_width));
      walk({0, layout_.steps()}, layout_, kept, state);
      // Two equal calls leave equal tapes, which torch.library.opcheck asks of an operator.
      if (shape_.reads_gates) {
        fill(0.0F, {kept.gates.data + shape_.tape, kept.gates.rows, CellShape::kTapeGap,
                    kept.gates.stride});
      }
    } else {
      for (Steps steps = next_chunk(0); steps.begin < layout_.steps();
           steps = next_chunk(steps.end)) {
        const PackedLayout part = part_of(layout_, steps);
        walk(steps, part, CellTape::in(memory_.states, memory_.work.gates, shape_, part),
             state.middle_rows(0, part.batch()));
      }
    }
    store_states(state, bf16_, shape_.hidden, layer_.last);
  }

  void backward() {
    const bool wants_x = layer_.d_x.data != nullptr;
    prepare({.forward = false, .input_gradient = wants_x, .rows = layout_.total_rows()},
            kind_.feedback->jacobian_use());
    load_diagonal();
    const Steps all{0, layout_.steps()};
    const ConstMatrixF x = input(all, layout_);
    const CellTape tape = this->tape(memory_.work.gates);
    const MatrixF initial = memory_.initial.reshape(layout_.batch(), shape_.state);
    const MatrixF g = errors(all);
    go_back(*kind_.cell, *kind_.feedback, layout_, x, tape, memory_.work, g,
            {last_gradients(), initial});
    store_states(initial, bf16_, shape_.hidden, layer_.d_initial);

    MatrixF dx = as_matrix(layer_.d_x, shape_.input);
    const bool in_place = !dx.empty();
    advise_fresh(dx);
    if (wants_x && !in_place) dx = memory_.dx.reshape(layout_.total_rows(), shape_.input);
    kind_.cell->parameter_gradients(layout_, x, tape, memory_.work, dx, Into::overwrite,
                                    gradients());
    if (wants_x && !in_place) scatter(order_, all, dx, bf16_, layer_.d_x);
    store_gradients();
  }

  /// Multiplications of the walk forward.
  dim_t work() const {
    return layout_.total_rows() * shape_.gate_columns() * (shape_.input + shape_.hidden);
  }

 private:
  // All rows of a tensor as a matrix that kernels can work on; empty if it is not one.
  MatrixF as_matrix(const dsf_rows& rows, dim_t cols) const {
    const dim_t stride = bf16_ || rows.data == nullptr ? 0 : order_.matrix_stride(rows, cols);
    if (stride == 0) return {};
    return {static_cast<float*>(rows.data), layout_.total_rows(), cols, stride};
  }

  Steps next_chunk(dim_t begin) const {
    const dim_t T = layout_.steps();
    dim_t end = begin;
    while (end < T &&
           (end == begin || layout_.offset(end + 1) - layout_.offset(begin) <= kChunkRows)) {
      ++end;
    }
    return {begin, end};
  }

  // The sizes of the parameters, in the order of the tensors below.
  std::array<dim_t, 4> parameter_sizes() const {
    const dim_t KD = shape_.gate_columns();
    return {KD * shape_.input, KD * shape_.hidden, KD, KD};
  }

  void prepare(const PassUse& passes, JacobianUse use) {
    const dim_t KD = shape_.gate_columns();
    const std::array<const void*, 4> tensors = {layer_.weight_ih, layer_.weight_hh, layer_.bias_ih,
                                                layer_.bias_hh};
    std::array<const float*, 4> values{};
    if (bf16_) {
      const std::array<dim_t, 4> sizes = parameter_sizes();
      memory_.weights.ensure(sizes[0] + sizes[1] + sizes[2] + sizes[3]);
      float* next = memory_.weights.data();
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i] == nullptr) continue;
        load(tensors[i], 0, true, sizes[i], next);
        values[i] = next;
        next += sizes[i];
      }
    } else {
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        values[i] = static_cast<const float*>(tensors[i]);
      }
    }
    kind_.cell->prepare({.W = {values[0], KD, shape_.input},
                         .U = {values[1], KD, shape_.hidden},
                         .b_ih = values[2],
                         .b_hh = values[3]},
                        bf16_ ? Precision::bf16 : Precision::f32, use, passes);
  }

  // The numbers that the feedback was made with are replaced by the layer's.
  void load_diagonal() {
    for (const NamedBuffer& buffer : kind_.feedback->buffers()) {
      if (layer_.a == nullptr || buffer.name != "diagonal") {
        throw UsageError("feedback \"" + kind_.feedback_name + "\" needs numbers: " + buffer.name);
      }
      std::copy_n(layer_.a, buffer.values.size(), buffer.values.begin());
    }
  }

  // The caller's tape: gates of all rows, unless the states say everything, then the states.
  CellTape tape(Matrix& scratch) {
    const dim_t N = layout_.total_rows();
    const dim_t stride = shape_.tape_stride();
    const MatrixF mine = scratch.reshape(N, stride).middle_cols(0, shape_.tape);
    const MatrixF theirs(layer_.tape, N, shape_.tape, stride);
    float* states = layer_.tape + (shape_.reads_gates ? N * stride : 0);
    return {.states = {states, layout_.batch() + N, shape_.state},
            .gates = shape_.reads_gates ? theirs : mine,
            .d = mine};
  }

  ConstMatrixF input(Steps steps, const PackedLayout& part) {
    const dim_t rows = part.total_rows();
    if (const ConstMatrixF all = as_matrix(layer_.x, shape_.input); !all.empty()) {
      return all.middle_rows(layout_.offset(steps.begin), rows);
    }
    const MatrixF x = memory_.x.reshape(rows, shape_.input);
    gather(order_, steps, layer_.x, bf16_, x);
    return x;
  }

  // Some steps forward; part: their layout.
  void walk(Steps steps, const PackedLayout& part, const CellTape& tape, MatrixF state) {
    const MatrixF y = as_matrix(layer_.output, layer_.output_width);
    kind_.cell->forward(part, input(steps, part), state, tape, memory_.work,
                        y.middle_rows(layout_.offset(steps.begin), part.total_rows()));
    if (!y.empty()) return;
    const ConstMatrixF states = tape.states.middle_rows(part.batch(), part.total_rows());
    scatter(order_, steps, states.middle_cols(0, layer_.output_width), bf16_, layer_.output);
  }

  // e [N, S]: what arrives at h, or at [h, c], from above; nothing arrives at c if only h was handed out.
  MatrixF errors(Steps all) {
    const MatrixF g = memory_.g.reshape(layout_.total_rows(), shape_.state);
    const dim_t width = layer_.grad_output.data == nullptr ? 0 : layer_.output_width;
    if (width > 0) gather(order_, all, layer_.grad_output, bf16_, g.middle_cols(0, width));
    if (width < g.cols) fill(0.0F, g.middle_cols(width, g.cols - width));
    return g;
  }

  ConstMatrixF last_gradients() {
    if (layer_.grad_last.h == nullptr) return {};
    const MatrixF last = memory_.last.reshape(layout_.batch(), shape_.state);
    load_states(layer_.grad_last, bf16_, shape_.hidden, last);
    return last;
  }

  std::array<void*, 4> gradient_tensors() const {
    return {layer_.d_weight_ih, layer_.d_weight_hh, layer_.d_bias_ih, layer_.d_bias_hh};
  }

  CellGradients gradients() {
    const std::array<void*, 4> tensors = gradient_tensors();
    std::array<float*, 4> values{};
    if (bf16_) {
      const std::array<dim_t, 4> sizes = parameter_sizes();
      memory_.gradients.ensure(sizes[0] + sizes[1] + sizes[2] + sizes[3]);
      float* next = memory_.gradients.data();
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        values[i] = tensors[i] == nullptr ? nullptr : next;
        next += sizes[i];
      }
    } else {
      for (std::size_t i = 0; i < tensors.size(); ++i) values[i] = static_cast<float*>(tensors[i]);
    }
    const dim_t KD = shape_.gate_columns();
    return {.W = {values[0], KD, shape_.input},
            .U = {values[1], KD, shape_.hidden},
            .b_ih = values[2],
            .b_hh = values[3]};
  }

  void store_gradients() {
    if (!bf16_) return;
    const std::array<void*, 4> tensors = gradient_tensors();
    const std::array<dim_t, 4> sizes = parameter_sizes();
    const float* next = memory_.gradients.data();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i] != nullptr) store(next, sizes[i], true, 0, tensors[i]);
      next += sizes[i];
    }
  }

  const dsf_layer& layer_;
  bool bf16_;
  LayerMemory& memory_;
  CellAndFeedback& kind_;
  const CellShape& shape_;
  PackedLayout layout_;
  RowOrder order_;
};

// Whose threads compute, and in which process: a team does not survive fork().
std::atomic<HostTeam> g_team{nullptr};
std::atomic<pid_t> g_team_process{0};

HostTeam team_here() {
  const HostTeam team = g_team.load(std::memory_order_acquire);
  return team != nullptr && g_team_process.load(std::memory_order_relaxed) == getpid() ? team
                                                                                       : nullptr;
}

// As many threads as PyTorch uses; one for what is over before another would be awake.
template <typename Work>
dsf_status run(const dsf_layer& layer, const Work& work) {
  return guarded([&] {
    if (layer.threads != thread_count()) set_thread_count(static_cast<int>(layer.threads));
    Call call(layer);
    if (call.work() < kSerialWork) return parallel_for(1, [&](dim_t) { work(call); });
    if (const HostTeam team = team_here(); team != nullptr) {
      return with_host_team(team, static_cast<int>(layer.threads), [&] { work(call); });
    }
    work(call);
  });
}

}  // namespace
}  // namespace dsf::native

void dsf_layer_team(dsf_team team) {
  dsf::native::g_team_process.store(getpid(), std::memory_order_relaxed);
  dsf::native::g_team.store(team, std::memory_order_release);
}

dsf_status dsf_layer_forward(const dsf_layer* layer) {
  return dsf::native::run(*layer, [](dsf::native::Call& call) { call.forward(); });
}

dsf_status dsf_layer_backward(const dsf_layer* layer) {
  return dsf::native::run(*layer, [](dsf::native::Call& call) { call.backward(); });
}

dsf_status dsf_layer_tape(const char* cell, int64_t numbers[3]) {
  return dsf::native::guarded([&] {
    const dsf::CellShape shape = dsf::native::make_named_cell(cell, 1, 1)->shape();
    const bool gates = shape.reads_gates;
    numbers[0] = shape.state + (gates ? shape.tape : 0);
    numbers[1] = gates ? dsf::CellShape::kTapeGap : 0;
    numbers[2] = shape.state;
  });
}
