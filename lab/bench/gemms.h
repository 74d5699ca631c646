#pragma once

// The least time a training step can take: its matrix products, each run alone.
//
//   T steps, B sequences, D hidden units, S state size, K gates, V vocabulary, N = T B rows
//
// Everything else a step does (gates, feedback, softmax, norms, the optimiser, conversions) counts
// as zero, so that  gemm_limit / step time  says how much of the step is spent on what must be.

#include <string>
#include <vector>

#include "dsf/base/buffer.h"
#include "dsf/kernels/gemm.h"
#include "dsf/kernels/packed_weights.h"
#include "dsf/model/model_config.h"
#include "lab/bench/measure.h"

namespace dsf {

/// C [m, n] from an inner dimension k:
///   forward            C  = A W^T   all rows at once
///   input_gradient     C  = A W     all rows at once
///   weight_gradient    C += A^T B   the sum over k rows
///   walk               C  = A W^T   one after the other through time, m = B rows each
///   walk_back          C += A W     the same, backwards: BPTT only
enum class GemmForm { forward, input_gradient, weight_gradient, walk, walk_back };

struct GemmJob {
  std::string name;
  GemmForm form = GemmForm::forward;
  dim_t m = 0;
  dim_t n = 0;
  dim_t k = 0;
  dim_t count = 1;  ///< how often a step needs it

  double flops() const { return 2.0 * static_cast<double>(m * n * k) * static_cast<double>(count); }
};

/// The products of one step of `config` on `batch` sequences of `steps` tokens, with those of
/// BPTT's walk back. Throws ConfigError for a mixer that is not a recurrent cell.
std::vector<GemmJob> step_gemms(const ModelConfig& config, dim_t vocab, dim_t steps, dim_t batch);

/// True if `method` needs the product.
bool needs(const std::string& method, const GemmJob& job);

/// Operations of a step of `method`.
double step_flops(const std::vector<GemmJob>& jobs, const std::string& method);

/// Runs the products, all threads, weights packed beforehand.
class GemmTimer {
 public:
  GemmTimer(std::vector<GemmJob> jobs, Precision precision);

  const std::vector<GemmJob>& jobs() const { return jobs_; }
  /// Seconds of each job, `count` times; if that is many, measured on some and multiplied.
  PartTimes run();

 private:
  struct Prepared {
    PackedWeights weights;
    dim_t calls = 1;  // that are measured
  };

  void prepare(const GemmJob& job, Prepared& prepared);
  double time_calls(const GemmJob& job, const Prepared& prepared);
  double time_walk(const GemmJob& job, const Prepared& prepared);
  OperandView operand(dim_t rows, dim_t cols, dim_t first = 0) const;

  std::vector<GemmJob> jobs_;
  std::vector<Prepared> prepared_;
  Precision precision_;
  Buffer<float> values_;
  OperandScratch converted_;
  OperandView operand_;  // the values in precision_: of the largest A, and from second_ on of B
  dim_t second_ = 0;
  Buffer<float> c_;
};

}  // namespace dsf
