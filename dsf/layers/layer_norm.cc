#include "dsf/layers/layer_norm.h"

namespace dsf {

LayerNorm::LayerNorm(ParameterTable& table, const std::string& prefix, dim_t width)
    : gamma_(table.add_vector(prefix + "weight", width, Init::ones())),
      beta_(table.add_vector(prefix + "bias", width, Init::zeros())) {}

void LayerNorm::forward(Weights weights, ConstMatrixF x, LayerNormStatistics statistics,
                        MatrixF y) {
  values_ = {weights.vector(gamma_), weights.vector(beta_)};
  repeat_forward(x, statistics, y);
}

void LayerNorm::repeat_forward(ConstMatrixF x, LayerNormStatistics statistics, MatrixF y) const {
  layer_norm_forward(x, values_, statistics, y);
}

void LayerNorm::backward(ConstMatrixF dy, ConstMatrixF x, LayerNormStatistics statistics,
                         Buffer<float>& work, MatrixF dx, Gradients gradients) const {
  layer_norm_backward(dy, x, values_.gamma, statistics, work, dx,
                      {gradients.vector(gamma_), gradients.vector(beta_)});
}

}  // namespace dsf
