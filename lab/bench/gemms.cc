#include "lab/bench/gemms.h"
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/rng.h"
#include "dsf/base/timer.h"
#include "dsf/cells/cell.h"
#include "dsf/kernels/parallel.h"
#include "dsf/kernels/slices.h"
#include "dsf/layers/chunk_rows.h"
#include "dsf/layers/mlp.h"

namespace dsf {
namespace {

// A measurement shorter than this is mostly the clock's and the scheduler's.
constexpr double kShortest = 0.01;
// Steps of a walk that are measured: enough to hide that the threads must be called together once.
constexpr dim_t kWalkSteps = 64;

/// y = x W^T over `rows` rows and its two gradients, `count` times.
void add_linear(const std::string& name, dim_t rows, dim_t in, dim_t out, dim_t count,
                std::vector<GemmJob>& jobs) {
  if (rows == 0) return;
  jobs.push_back({name, GemmForm::forward, rows, out, in, count});
  jobs.push_back({name + " dx", GemmForm::input_gradient, rows, in, out, count});
  jobs.push_back({name + " dW", GemmForm::weight_gradient, out, in, rows, count});
}

/// The same over N rows in chunks.
void add_chunked_linear(const std::string& name, dim_t rows, dim_t in, dim_t out, dim_t count,
                        std::vector<GemmJob>& jobs) {
  if (rows >= kChunkRows) add_linear(name, kChunkRows, in, out, count * (rows / kChunkRows), jobs);
  add_linear(name + " rest", rows % kChunkRows, in, out, count, jobs);
}

/// Forward W x over all rows and U h step by step; backward dX, dW, dU over all rows and, for BPTT,
/// d U step by step. The GRU that resets before the product needs  d_n U_n  whichever the method.
void add_cell(const ModelConfig& config, const CellShape& cell, dim_t steps, dim_t batch,
              std::vector<GemmJob>& jobs) {
  const dim_t rows = steps * batch;
  const dim_t D = cell.hidden;
  const dim_t KD = cell.gates * D;
  const dim_t layers = config.layers;
  const bool reset_before = config.mixer == MixerKind::gru && config.reset == GruReset::before;
  add_linear("cell W", rows, cell.input, KD, layers, jobs);
  jobs.push_back({"cell U", GemmForm::walk, batch, KD, D, layers * steps});
  jobs.push_back({"cell U dU", GemmForm::weight_gradient, KD, D, rows, layers});
  if (reset_before) {
    jobs.push_back({"cell U_n back", GemmForm::input_gradient, rows, D, D, layers});
  }
  if (steps > 1) {
    const dim_t inner = reset_before ? KD - D : KD;
    jobs.push_back({"cell U back", GemmForm::walk_back, batch, D, inner, layers * (steps - 1)});
  }
}

}  // namespace

std::vector<GemmJob> step_gemms(const ModelConfig& config, dim_t vocab, dim_t steps, dim_t batch) {
  const dim_t rows = steps * batch;
  const dim_t D = config.hidden;
  const std::optional<CellKind> kind = cell_of(config.mixer);
  if (!kind) {
    throw ConfigError(fmt::format("model.mixer = \"{}\" has no recurrent products; {} have",
                                  name_of(config.mixer), in_words(choice_names<CellKind>())));
  }
  const CellShape cell = make_cell(*kind, config.reset, D, D)->shape();
  std::vector<GemmJob> jobs;
  add_cell(config, cell, steps, batch, jobs);
  if (config.block == BlockKind::transformer) {
    const dim_t inner = Mlp::kExpansion * D;
    add_linear("projection", rows, cell.state, D, config.layers, jobs);
    add_chunked_linear("mlp in", rows, D, inner, config.layers, jobs);
    add_chunked_linear("mlp out", rows, inner, D, config.layers, jobs);
  } else if (cell.state != D) {
    add_linear("projection", rows, cell.state, D, config.layers, jobs);
  }
  add_chunked_linear("head", rows, D, vocab, 1, jobs);
  return jobs;
}

bool needs(const std::string& method, const GemmJob& job) {
  return job.form != GemmForm::walk_back || method == "bptt";
}

double step_flops(const std::vector<GemmJob>& jobs, const std::string& method) {
  double sum = 0.0;
  for (const GemmJob& job : jobs) sum += needs(method, job) ? job.flops() : 0.0;
  return sum;
}

GemmTimer::GemmTimer(std::vector<GemmJob> jobs, Precision precision)
    : jobs_(std::move(jobs)), prepared_(jobs_.size()), precision_(precision) {
  constexpr dim_t kCacheLine = 64;  // bytes, and at least as many values
  dim_t largest_a = 0;
  dim_t largest_b = 0;
  dim_t largest_result = 0;
  for (const GemmJob& job : jobs_) {
    largest_a = std::max(largest_a, job.m * job.k);
    largest_b = std::max(largest_b, job.k * job.n);
    largest_result = std::max(largest_result, job.m * job.n);
  }
  second_ = round_up(largest_a, kCacheLine);
  const dim_t values = second_ + largest_b;
  // A few thousand random numbers, repeated: products cost the same, drawing them does not.
  constexpr dim_t kDrawn = 4099;
  Rng rng(1, "bench/gemm");
  values_.ensure(values);
  for (dim_t i = 0; i < std::min(kDrawn, values); ++i) {
    values_[i] = static_cast<float>(rng.uniform(-0.1, 0.1));
  }
  for (dim_t i = kDrawn; i < values; ++i) values_[i] = values_[i - kDrawn];
  operand_ = converted_(ConstMatrixF(values_.data(), 1, values), precision);
  c_.resize(largest_result);
  for (std::size_t i = 0; i < jobs_.size(); ++i) prepare(jobs_[i], prepared_[i]);
}

/// Packs the weights as a layer does, and finds out how many calls make a measurement.
void GemmTimer::prepare(const GemmJob& job, Prepared& prepared) {
  if (job.form != GemmForm::weight_gradient) {
    const bool transposed = job.form == GemmForm::forward || job.form == GemmForm::walk;
    const ConstMatrixF source(values_.data(), transposed ? job.n : job.k,
                              transposed ? job.k : job.n);
    prepared.weights.pack(source, transposed ? Op::transpose : Op::none, precision_);
  }
  if (job.form == GemmForm::walk || job.form == GemmForm::walk_back) {
    prepared.calls = std::min(job.count, kWalkSteps);
    return;
  }
  time_calls(job, prepared);
  const double one = std::max(time_calls(job, prepared), 1e-6);
  prepared.calls = std::clamp<dim_t>(static_cast<dim_t>(std::ceil(kShortest / one)), 1, job.count);
}

OperandView GemmTimer::operand(dim_t rows, dim_t cols, dim_t first) const {
  OperandView view = operand_;
  view.data = operand_.at(0, first);
  view.rows = rows;
  view.cols = cols;
  view.stride = cols;
  return view;
}

double GemmTimer::time_calls(const GemmJob& job, const Prepared& prepared) {
  const MatrixF c(c_.data(), job.m, job.n);
  const Timer timer;
  for (dim_t call = 0; call < prepared.calls; ++call) {
    if (job.form == GemmForm::weight_gradient) {
      // Each from memory of its own, as the inputs and their gradients are.
      gemm(Op::transpose, operand(job.k, job.m), Op::none, operand(job.k, job.n, second_),
           Into::accumulate, c);
    } else {
      gemm(operand(job.m, job.k), prepared.weights, Into::overwrite, c);
    }
  }
  return timer.seconds();
}

/// A product of a walk can be spread over the threads in two ways: each thread takes slices of the
/// sequences through all steps, or all threads share every step. The faster one is the limit.
double GemmTimer::time_walk(const GemmJob& job, const Prepared& prepared) {
  const Into into = job.form == GemmForm::walk_back ? Into::accumulate : Into::overwrite;
  const MatrixF c(c_.data(), job.m, job.n);
  const OperandView a = operand(job.m, job.k);

  Timer timer;
  parallel_ranges(job.m, slice_rows(job.m, job.n * job.k), [&](dim_t begin, dim_t end) {
    const OperandView slice = a.block(begin, end - begin, 0, a.cols);
    for (dim_t call = 0; call < prepared.calls; ++call) {
      gemm(slice, prepared.weights, into, c.middle_rows(begin, end - begin));
    }
  });
  const double in_slices = timer.seconds();

  timer.restart();
  for (dim_t call = 0; call < prepared.calls; ++call) gemm(a, prepared.weights, into, c);
  return std::min(in_slices, timer.seconds());
}

PartTimes GemmTimer::run() {
  PartTimes seconds;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    const GemmJob& job = jobs_[i];
    const bool walk = job.form == GemmForm::walk || job.form == GemmForm::walk_back;
    const double measured = walk ? time_walk(job, prepared_[i]) : time_calls(job, prepared_[i]);
    seconds.push_back(measured / static_cast<double>(prepared_[i].calls) *
                      static_cast<double>(job.count));
  }
  return seconds;
}

}  // namespace dsf
