#pragma once

// Adam and AdamW for one weight, in double, as the equations stand in dsf/optim/adam.h.

#include <cmath>

#include "dsf/optim/adam.h"

namespace dsf::testing {

class ReferenceAdam {
 public:
  ReferenceAdam(const AdamConfig& config, double weight) : config_(config), w_(weight) {}

  double update(double learning_rate, double gradient) {
    ++t_;
    double g = gradient;
    if (config_.decoupled) {
      w_ *= 1.0 - learning_rate * config_.weight_decay;
    } else {
      g += config_.weight_decay * w_;
    }
    m_ = config_.beta1 * m_ + (1.0 - config_.beta1) * g;
    v_ = config_.beta2 * v_ + (1.0 - config_.beta2) * g * g;
    const double m_hat = m_ / (1.0 - std::pow(config_.beta1, t_));
    const double v_hat = v_ / (1.0 - std::pow(config_.beta2, t_));
    w_ -= learning_rate * m_hat / (std::sqrt(v_hat) + config_.epsilon);
    return w_;
  }

 private:
  AdamConfig config_;
  double w_;
  double m_ = 0.0;
  double v_ = 0.0;
  double t_ = 0.0;
};

}  // namespace dsf::testing
