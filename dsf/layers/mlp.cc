#include "dsf/layers/mlp.h"

#include "dsf/kernels/gelu.h"

namespace dsf {

Mlp::Mlp(ParameterTable& table, const std::string& prefix, dim_t width, float in_deviation,
         float out_deviation)
    : in_(table, prefix + "in.", width, kExpansion * width, Init::normal(in_deviation)),
      out_(table, prefix + "out.", kExpansion * width, width, Init::normal(out_deviation)) {}

void Mlp::forward(Weights weights, ConstMatrixF x, MlpScratch& scratch, MatrixF p, MatrixF y) {
  in_.forward(weights, x, scratch.in, p);
  const MatrixF activated = scratch.activated.reshape(x.rows, inner_width());
  gelu_forward(p, activated);
  out_.forward(weights, activated, scratch.out, y);
}

void Mlp::backward(ConstMatrixF x, ConstMatrixF p, ConstMatrixF dy, MlpScratch& scratch, MatrixF dx,
                   Gradients gradients) const {
  const MatrixF activated = scratch.activated.reshape(x.rows, inner_width());
  gelu_forward(p, activated);
  const MatrixF d_activated = scratch.d_activated.reshape(x.rows, inner_width());
  out_.backward(activated, dy, scratch.out, d_activated, gradients);
  gelu_backward(d_activated, p, d_activated);
  in_.backward(x, d_activated, scratch.in, dx, gradients);
}

}  // namespace dsf
