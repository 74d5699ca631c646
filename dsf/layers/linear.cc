#include "dsf/layers/linear.h"

#include "dsf/kernels/elementwise.h"

namespace dsf {

Linear::Linear(ParameterTable& table, const std::string& prefix, dim_t in, dim_t out,
               Init weight_init)
    : weight_(table.add_matrix(prefix + "weight", out, in, weight_init)),
      bias_(table.add_vector(prefix + "bias", out, Init::zeros())) {}

void Linear::forward(Weights weights, ConstMatrixF x, LinearScratch& scratch, MatrixF y) {
  multiply(weights, x, scratch, y);
  add_bias(bias(weights), y);
}

void Linear::multiply(Weights weights, ConstMatrixF x, LinearScratch& scratch, MatrixF y) {
  packed_.renew(weights, [&] {
    precision_ = weights.precision();
    forward_weights_.pack(weights(weight_), Op::transpose, precision_);
    backward_weights_.pack(weights(weight_), Op::none, precision_);
  });
  gemm(scratch.x(x, precision_), forward_weights_, Into::overwrite, y);
}

void Linear::backward(ConstMatrixF x, ConstMatrixF dy, LinearScratch& scratch, MatrixF dx,
                      Gradients gradients) const {
  backward(x, scratch.dy(dy, precision_), dy, scratch, dx, gradients);
}

// dx = dy W,   dW += dy^T x,   db += sum over rows of dy
void Linear::backward(ConstMatrixF x, OperandView dy, ConstMatrixF sums, LinearScratch& scratch,
                      MatrixF dx, Gradients gradients) const {
  gemm(Op::transpose, dy, Op::none, scratch.x(x, precision_), Into::accumulate, gradients(weight_));
  gemm(dy, backward_weights_, Into::overwrite, dx);  // last: dx may be x
  column_sums(sums, scratch.partial_sums, gradients.vector(bias_));
}

}  // namespace dsf
