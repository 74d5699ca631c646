#pragma once

#include "dsf/base/buffer.h"
#include "dsf/base/rng.h"
#include "dsf/feedback/feedback.h"

namespace dsf {

/// DSF with a complex diagonal, as state-space models have it:  g_t = e_t + g_{t+1} A
///
/// Units j and j + S/2 are the two parts of one complex number, and A multiplies it by
/// a_j = exp(d_j (-1/2 + i pi n_j)). A unit that is left over is multiplied by the modulus alone.
///
/// These are the numbers of S4D-Lin (Gu et al., 2022), the simplified spectrum of HiPPO: modes
/// n = 0, 1, ..., 31 again and again, time steps d drawn log-uniformly from [0.001, 0.1].
class PairsFeedback final : public Feedback {
 public:
  PairsFeedback(dim_t state_size, Rng rng);

  void run(BackwardPass& pass) override {
    pass.walk([this](ConstMatrixF g_t, MatrixF g_previous) { add_product(g_t, g_previous); });
  }
  /// real [S/2, rounded up] and imaginary [S/2]: of a.
  std::vector<NamedBuffer> buffers() override;

 private:
  void add_product(ConstMatrixF g, MatrixF g_previous) const;

  Buffer<float> real_;
  Buffer<float> imaginary_;
};

}  // namespace dsf
