#include "lab/bench/onednn_rnn.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dsf/base/error.h"
#include "dsf/base/max_isa.h"
#include "dsf/kernels/parallel.h"
#include "lab/bench/tile_palette.h"

namespace dsf {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;
using Arguments = std::unordered_map<int, memory>;

constexpr auto kDirection = dnnl::rnn_direction::unidirectional_left2right;

// Position of oneDNN's gate in PyTorch's order. GRU: oneDNN u, r, o; PyTorch r, z = u, n = o.
std::vector<dim_t> pytorch_gates(OnednnCell cell) {
  switch (cell) {
    case OnednnCell::rnn:
      return {0};
    case OnednnCell::gru:
    case OnednnCell::lbr_gru:
      return {1, 0, 2};
    case OnednnCell::lstm:
      return {0, 1, 2, 3};
  }
  return {};
}

// The C++ interface of oneDNN 3 has no operation descriptors any more.
template <typename Primitive, typename... Arguments>
auto describe_forward(const dnnl::engine& engine, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine, arguments...);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), engine);
#endif
}
template <typename Primitive, typename Hint, typename... Arguments>
auto describe_backward(const dnnl::engine& engine, const Hint& hint,
                       const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine, arguments..., hint);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), engine, hint);
#endif
}

// oneDNN looks at the CPU itself: what DSF_MAX_ISA allows holds for it too. Before anything else of it.
void apply_isa_limit() {
  static const bool applied = [] {
    switch (max_isa().value_or(Isa::amx)) {
      case Isa::avx2:
        return dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2) == dnnl_success;
      case Isa::avx512:
        return dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core) == dnnl_success;
      case Isa::avx512_bf16:
        return dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16) == dnnl_success;
      case Isa::amx:
        return true;  // no limit; its name differs between oneDNN 2 and 3
    }
    return true;
  }();
  (void)applied;
}

// oneDNN's threads are OpenMP's; the number belongs to the calling thread and is put back.
class OpenMpThreads {
 public:
  OpenMpThreads() : before_(omp_get_max_threads()) { omp_set_num_threads(thread_count()); }
  ~OpenMpThreads() { omp_set_num_threads(before_); }
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  int before_;
};

// What both primitives are asked for: the layouts of weights are oneDNN's choice, the rest is ours.
struct Descriptions {
  memory::desc x;
  memory::desc weights_layer;
  memory::desc weights_iter;
  memory::desc bias;
  memory::desc y;
  memory::desc diff_x;
  memory::desc diff_weights_layer;
  memory::desc diff_weights_iter;
  memory::desc diff_bias;
  memory::desc diff_y;
};

// oneDNN takes gradients in f32 only, also for a bf16 layer.
Descriptions describe(const OnednnRnnShape& s) {
  const Type type = s.precision == Precision::f32 ? Type::f32 : Type::bf16;
  const auto gates = static_cast<dim_t>(pytorch_gates(s.cell).size());
  const dim_t biases = s.cell == OnednnCell::lbr_gru ? gates + 1 : gates;
  const memory::dims rows = {s.steps, s.batch, s.hidden};
  const memory::dims weights = {1, 1, s.hidden, gates, s.hidden};
  const memory::dims bias = {1, 1, biases, s.hidden};
  return {.x = {rows, type, Tag::tnc},
          .weights_layer = {weights, type, Tag::any},
          .weights_iter = {weights, type, Tag::any},
          .bias = {bias, Type::f32, Tag::ldgo},
          .y = {rows, type, Tag::tnc},
          .diff_x = {rows, Type::f32, Tag::tnc},
          .diff_weights_layer = {weights, Type::f32, Tag::any},
          .diff_weights_iter = {weights, Type::f32, Tag::any},
          .diff_bias = {bias, Type::f32, Tag::ldgo},
          .diff_y = {rows, Type::f32, Tag::tnc}};
}

// The two primitives, and the layouts they chose.
struct Primitives {
  dnnl::primitive forward;
  dnnl::primitive backward;
  memory::desc workspace;
  memory::desc forward_layer;
  memory::desc forward_iter;
  memory::desc backward_layer;
  memory::desc backward_iter;
  memory::desc diff_layer;
  memory::desc diff_iter;
};

template <typename Forward, typename Backward, typename ForwardDesc, typename BackwardDesc>
Primitives put_together(const ForwardDesc& forward, const BackwardDesc& backward) {
  return {.forward = Forward(forward),
          .backward = Backward(backward),
          .workspace = forward.workspace_desc(),
          .forward_layer = forward.weights_layer_desc(),
          .forward_iter = forward.weights_iter_desc(),
          .backward_layer = backward.weights_layer_desc(),
          .backward_iter = backward.weights_iter_desc(),
          .diff_layer = backward.diff_weights_layer_desc(),
          .diff_iter = backward.diff_weights_iter_desc()};
}

constexpr auto kTraining = dnnl::prop_kind::forward_training;
constexpr auto kBackward = dnnl::prop_kind::backward;

Primitives make_rnn(const dnnl::engine& engine, const Descriptions& d) {
  using Forward = dnnl::vanilla_rnn_forward;
  using Backward = dnnl::vanilla_rnn_backward;
  constexpr auto kTanh = dnnl::algorithm::eltwise_tanh;
  const memory::desc none;
  const auto forward =
      describe_forward<Forward>(engine, kTraining, kTanh, kDirection, d.x, none, d.weights_layer,
                                d.weights_iter, d.bias, d.y, none);
  const auto backward = describe_backward<Backward>(
      engine, forward, kBackward, kTanh, kDirection, d.x, none, d.weights_layer, d.weights_iter,
      d.bias, d.y, none, d.diff_x, none, d.diff_weights_layer, d.diff_weights_iter, d.diff_bias,
      d.diff_y, none);
  return put_together<Forward, Backward>(forward, backward);
}

template <typename Forward, typename Backward>
Primitives make_gru(const dnnl::engine& engine, const Descriptions& d) {
  const memory::desc none;
  const auto forward = describe_forward<Forward>(
      engine, kTraining, kDirection, d.x, none, d.weights_layer, d.weights_iter, d.bias, d.y, none);
  const auto backward = describe_backward<Backward>(
      engine, forward, kBackward, kDirection, d.x, none, d.weights_layer, d.weights_iter, d.bias,
      d.y, none, d.diff_x, none, d.diff_weights_layer, d.diff_weights_iter, d.diff_bias, d.diff_y,
      none);
  return put_together<Forward, Backward>(forward, backward);
}

Primitives make_lstm(const dnnl::engine& engine, const Descriptions& d) {
  using Forward = dnnl::lstm_forward;
  using Backward = dnnl::lstm_backward;
  const memory::desc none;
  const auto forward =
      describe_forward<Forward>(engine, kTraining, kDirection, d.x, none, none, d.weights_layer,
                                d.weights_iter, d.bias, d.y, none, none);
  const auto backward = describe_backward<Backward>(
      engine, forward, kBackward, kDirection, d.x, none, none, d.weights_layer, d.weights_iter,
      d.bias, d.y, none, none, d.diff_x, none, none, d.diff_weights_layer, d.diff_weights_iter,
      d.diff_bias, d.diff_y, none, none);
  return put_together<Forward, Backward>(forward, backward);
}

Primitives make_primitives(OnednnCell cell, const dnnl::engine& engine, const Descriptions& d) {
  switch (cell) {
    case OnednnCell::rnn:
      return make_rnn(engine, d);
    case OnednnCell::gru:
      return make_gru<dnnl::gru_forward, dnnl::gru_backward>(engine, d);
    case OnednnCell::lbr_gru:
      return make_gru<dnnl::lbr_gru_forward, dnnl::lbr_gru_backward>(engine, d);
    case OnednnCell::lstm:
      return make_lstm(engine, d);
  }
  throw Error("unknown oneDNN cell");
}

}  // namespace

struct OnednnRnn::Impl {
  explicit Impl(const OnednnRnnShape& s)
      : shape(s),
        descriptions(describe(s)),
        primitives(make_primitives(s.cell, engine, descriptions)) {
    const OpenMpThreads threads;
    const memory x = zeros(descriptions.x);
    const memory y = zeros(descriptions.y);
    const memory bias = zeros(descriptions.bias);
    const memory workspace = zeros(primitives.workspace);
    forward = {{DNNL_ARG_SRC_LAYER, x},
               {DNNL_ARG_WEIGHTS_LAYER, zeros(primitives.forward_layer)},
               {DNNL_ARG_WEIGHTS_ITER, zeros(primitives.forward_iter)},
               {DNNL_ARG_BIAS, bias},
               {DNNL_ARG_DST_LAYER, y},
               {DNNL_ARG_WORKSPACE, workspace}};
    backward = {{DNNL_ARG_SRC_LAYER, x},
                {DNNL_ARG_WEIGHTS_LAYER, zeros(primitives.backward_layer)},
                {DNNL_ARG_WEIGHTS_ITER, zeros(primitives.backward_iter)},
                {DNNL_ARG_BIAS, bias},
                {DNNL_ARG_DST_LAYER, y},
                {DNNL_ARG_WORKSPACE, workspace},
                {DNNL_ARG_DIFF_SRC_LAYER, zeros(descriptions.diff_x)},
                {DNNL_ARG_DIFF_WEIGHTS_LAYER, zeros(primitives.diff_layer)},
                {DNNL_ARG_DIFF_WEIGHTS_ITER, zeros(primitives.diff_iter)},
                {DNNL_ARG_DIFF_BIAS, zeros(descriptions.diff_bias)},
                {DNNL_ARG_DIFF_DST_LAYER, zeros(descriptions.diff_y)}};
  }

  memory zeros(const memory::desc& description) const {
    memory fresh(description, engine);
    std::memset(fresh.get_data_handle(), 0, description.get_size());
    return fresh;
  }

  // Converts precision and layout.
  void reorder(memory from, memory to) {
    const OpenMpThreads threads;
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
  }

  // Rows [N, D] of ours as oneDNN's tensor; our memory is dense where the tensor is.
  memory rows_as_tensor(MatrixF rows) const {
    if (!rows.dense() || rows.rows != shape.steps * shape.batch || rows.cols != shape.hidden) {
      throw Error("oneDNN layer: expected a dense matrix [steps * batch, hidden]");
    }
    return {{{shape.steps, shape.batch, shape.hidden}, Type::f32, Tag::tnc}, engine, rows.data};
  }
  // oneDNN's interface has no memory of const elements; a reorder reads its source only.
  memory rows_as_tensor(ConstMatrixF rows) const {
    return rows_as_tensor(
        MatrixF(const_cast<float*>(rows.data), rows.rows, rows.cols, rows.stride));
  }

  // w [K D, D] in PyTorch's order -> both primitives' copies.
  void set_weight(int argument, ConstMatrixF w) {
    const std::vector<dim_t> gates = pytorch_gates(shape.cell);
    const auto K = static_cast<dim_t>(gates.size());
    const dim_t D = shape.hidden;
    const memory ordered = zeros({{1, 1, D, K, D}, Type::f32, Tag::ldgoi});
    auto* values = static_cast<float*>(ordered.get_data_handle());
    for (dim_t k = 0; k < K; ++k) {
      for (dim_t row = 0; row < D; ++row) {
        const float* source = w.row(gates[static_cast<std::size_t>(k)] * D + row);
        std::copy_n(source, D, values + (k * D + row) * D);
      }
    }
    reorder(ordered, forward.at(argument));
    reorder(ordered, backward.at(argument));
  }

  void set_bias(const float* b_ih, const float* b_hh) {
    const std::vector<dim_t> gates = pytorch_gates(shape.cell);
    const auto K = static_cast<dim_t>(gates.size());
    const dim_t D = shape.hidden;
    const bool separate = shape.cell == OnednnCell::lbr_gru;  // the candidate's two biases
    auto* values = static_cast<float*>(forward.at(DNNL_ARG_BIAS).get_data_handle());
    for (dim_t k = 0; k < K; ++k) {
      const dim_t from = gates[static_cast<std::size_t>(k)] * D;
      const bool apart = separate && k == K - 1;
      for (dim_t j = 0; j < D; ++j) {
        values[k * D + j] = b_ih[from + j] + (apart ? 0.0F : b_hh[from + j]);
        if (apart) values[K * D + j] = b_hh[from + j];
      }
    }
  }

  // The way back of set_weight and set_bias, for the gradients.
  void get_weight_gradient(int argument, MatrixF dw) {
    const std::vector<dim_t> gates = pytorch_gates(shape.cell);
    const auto K = static_cast<dim_t>(gates.size());
    const dim_t D = shape.hidden;
    const memory ordered = zeros({{1, 1, D, K, D}, Type::f32, Tag::ldgoi});
    reorder(backward.at(argument), ordered);
    const auto* values = static_cast<const float*>(ordered.get_data_handle());
    for (dim_t k = 0; k < K; ++k) {
      for (dim_t row = 0; row < D; ++row) {
        std::copy_n(values + (k * D + row) * D, D,
                    dw.row(gates[static_cast<std::size_t>(k)] * D + row));
      }
    }
  }

  void get_bias_gradient(float* db_ih, float* db_hh) const {
    const std::vector<dim_t> gates = pytorch_gates(shape.cell);
    const auto K = static_cast<dim_t>(gates.size());
    const dim_t D = shape.hidden;
    const bool separate = shape.cell == OnednnCell::lbr_gru;
    const auto* values =
        static_cast<const float*>(backward.at(DNNL_ARG_DIFF_BIAS).get_data_handle());
    for (dim_t k = 0; k < K; ++k) {
      const dim_t to = gates[static_cast<std::size_t>(k)] * D;
      const dim_t hidden = separate && k == K - 1 ? K : k;
      std::copy_n(values + k * D, D, db_ih + to);
      std::copy_n(values + hidden * D, D, db_hh + to);
    }
  }

  void run(const dnnl::primitive& primitive, const Arguments& arguments) {
    const OpenMpThreads threads;
    primitive.execute(stream, arguments);
    stream.wait();
  }

  OnednnRnnShape shape;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  Descriptions descriptions;
  Primitives primitives;
  Arguments forward;
  Arguments backward;
};

OnednnRnn::OnednnRnn(const OnednnRnnShape& shape) {
  apply_isa_limit();
  // oneDNN plans for the threads it sees when a primitive is made.
  const OpenMpThreads threads;
  const ShownTilePalette palette;
  if (shape.precision == Precision::bf16 && hides_tile_palette() && !palette.shown()) {
    throw Error("oneDNN cannot use AMX here: CPUID leaf 1DH, the sizes of its tiles, is hidden");
  }
  try {
    impl_ = std::make_unique<Impl>(shape);
  } catch (const dnnl::error& refused) {
    throw Error(std::string("oneDNN offers no such recurrent layer here: ") + refused.what());
  }
}
OnednnRnn::~OnednnRnn() = default;
OnednnRnn::OnednnRnn(OnednnRnn&&) noexcept = default;
OnednnRnn& OnednnRnn::operator=(OnednnRnn&&) noexcept = default;

void OnednnRnn::set_weights(ConstMatrixF W, ConstMatrixF U, const float* b_ih, const float* b_hh) {
  impl_->set_weight(DNNL_ARG_WEIGHTS_LAYER, W);
  impl_->set_weight(DNNL_ARG_WEIGHTS_ITER, U);
  impl_->set_bias(b_ih, b_hh);
}

void OnednnRnn::set_input(ConstMatrixF x) {
  impl_->reorder(impl_->rows_as_tensor(x), impl_->forward.at(DNNL_ARG_SRC_LAYER));
}

void OnednnRnn::set_output_gradient(ConstMatrixF dy) {
  impl_->reorder(impl_->rows_as_tensor(dy), impl_->backward.at(DNNL_ARG_DIFF_DST_LAYER));
}

void OnednnRnn::forward() { impl_->run(impl_->primitives.forward, impl_->forward); }
void OnednnRnn::backward() { impl_->run(impl_->primitives.backward, impl_->backward); }

void OnednnRnn::output(MatrixF y) const {
  impl_->reorder(impl_->forward.at(DNNL_ARG_DST_LAYER), impl_->rows_as_tensor(y));
}

void OnednnRnn::input_gradient(MatrixF dx) const {
  impl_->reorder(impl_->backward.at(DNNL_ARG_DIFF_SRC_LAYER), impl_->rows_as_tensor(dx));
}

void OnednnRnn::weight_gradients(MatrixF dW, MatrixF dU, float* db_ih, float* db_hh) const {
  impl_->get_weight_gradient(DNNL_ARG_DIFF_WEIGHTS_LAYER, dW);
  impl_->get_weight_gradient(DNNL_ARG_DIFF_WEIGHTS_ITER, dU);
  impl_->get_bias_gradient(db_ih, db_hh);
}

std::string onednn_version() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + '.' + std::to_string(v->minor) + '.' + std::to_string(v->patch);
}

}  // namespace dsf
