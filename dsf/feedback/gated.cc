#include "dsf/feedback/gated.h"

#include "dsf/kernels/diagonal_step.h"

namespace dsf {

void GatedFeedback::run(BackwardPass& pass) {
  if (a_.empty()) return pass.walk_diagonal();
  pass.walk_diagonal([this](ConstMatrixF g_t, ConstMatrixF diagonal, MatrixF g_previous) {
    add_joined_paths(a_.span(), g_t, diagonal, g_previous);
  });
}

std::vector<NamedBuffer> GatedFeedback::buffers() {
  if (a_.empty()) return {};
  return {{"diagonal", a_.span()}};
}

}  // namespace dsf
