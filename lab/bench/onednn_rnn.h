#pragma once

// oneDNN's own recurrent primitives, forward_training and backward: exact BPTT, the fastest on a
// CPU today. Nothing trains with them; they are the peer that `dsf bench layer` measures against.
//
//   T steps, B sequences, D hidden units = inputs, K gates, N = T B rows, time-major as everywhere

#include <memory>
#include <string>

#include "dsf/base/view.h"
#include "dsf/kernels/gemm.h"

namespace dsf {

/// lbr_gru ("linear before reset") is the GRU that resets after the product, gru the one before.
enum class OnednnCell { rnn, gru, lbr_gru, lstm };

struct OnednnRnnShape {
  OnednnCell cell = OnednnCell::rnn;
  dim_t steps = 0;
  dim_t batch = 0;
  dim_t hidden = 0;
  Precision precision = Precision::f32;
};

/// One layer with all its memory. Sequences start from zero states.
class OnednnRnn {
 public:
  /// Throws Error if oneDNN has no such primitive on this CPU (bf16 without AVX-512).
  explicit OnednnRnn(const OnednnRnnShape& shape);
  ~OnednnRnn();
  OnednnRnn(OnednnRnn&&) noexcept;
  OnednnRnn& operator=(OnednnRnn&&) noexcept;

  /// PyTorch's shapes and gate order: W and U [K D, D], biases [K D]. Converted into the layouts
  /// the two primitives ask for: a training step would do this once, so it is apart from the
  /// passes.
  void set_weights(ConstMatrixF W, ConstMatrixF U, const float* b_ih, const float* b_hh);
  /// x [N, D], converted to the precision of the layer.
  void set_input(ConstMatrixF x);
  /// dy [N, D]: the gradient that arrives at h of every row.
  void set_output_gradient(ConstMatrixF dy);

  /// Both use as many threads as parallel_for does.
  void forward();
  /// After forward. The gradients of the weights are accumulated, as oneDNN defines it.
  void backward();

  /// h [N, D] and the input's gradient [N, D], overwritten.
  void output(MatrixF y) const;
  void input_gradient(MatrixF dx) const;
  /// As in set_weights: dW and dU [K D, D], db_ih and db_hh [K D], overwritten.
  void weight_gradients(MatrixF dW, MatrixF dU, float* db_ih, float* db_hh) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Of the library that is loaded: "2.6.3".
std::string onednn_version();

}  // namespace dsf
