// Speed of the matrix products at the shapes of training, in FLOP/s.
//
//   D = 256 units, GRU (3D gates), V = 10000 words, N = 8192 tokens per batch, 1024 rows of the head
//   at a time, 16 to 64 rows a thread in the walk through time

#include <benchmark/benchmark.h>

#include "dsf/base/buffer.h"
#include "dsf/base/rng.h"
#include "dsf/kernels/gemm.h"
#include "dsf/kernels/packed_weights.h"
#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

Matrix random_matrix(dim_t rows, dim_t cols) {
  Matrix matrix(rows, cols);
  Rng rng(1);
  for (dim_t i = 0; i < rows * cols; ++i) {
    matrix.view().data[i] = static_cast<float>(rng.uniform(-1.0, 1.0));
  }
  return matrix;
}

void report(benchmark::State& state, dim_t m, dim_t n, dim_t k) {
  const double flop =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  state.counters["FLOP/s"] =
      benchmark::Counter(flop, benchmark::Counter::kIsIterationInvariantRate);
}

// Arguments of every benchmark: m, n, k.
void run(benchmark::State& state, Op op_a, Op op_b, Precision precision) {
  const dim_t m = state.range(0);
  const dim_t n = state.range(1);
  const dim_t k = state.range(2);
  const Matrix a = op_a == Op::none ? random_matrix(m, k) : random_matrix(k, m);
  const Matrix b = op_b == Op::none ? random_matrix(k, n) : random_matrix(n, k);
  Matrix c(m, n);
  OperandScratch scratch_a;
  OperandScratch scratch_b;
  const OperandView a_view = scratch_a(a, precision);
  const OperandView b_view = scratch_b(b, precision);
  for ([[maybe_unused]] auto _ : state) gemm(op_a, a_view, op_b, b_view, Into::overwrite, c);
  report(state, m, n, k);
}

void run_packed(benchmark::State& state, Op op_b, Precision precision) {
  const dim_t m = state.range(0);
  const dim_t n = state.range(1);
  const dim_t k = state.range(2);
  const Matrix a = random_matrix(m, k);
  const Matrix b = op_b == Op::none ? random_matrix(k, n) : random_matrix(n, k);
  Matrix c(m, n);
  OperandScratch scratch_a;
  PackedWeights weights;
  weights.pack(b, op_b, precision);
  const OperandView a_view = scratch_a(a, precision);
  for ([[maybe_unused]] auto _ : state) gemm(a_view, weights, Into::overwrite, c);
  report(state, m, n, k);
}

void layer_shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"m", "n", "k"})
      ->Args({8192, 768, 256})    // all input products of a layer
      ->Args({1024, 10000, 256})  // head
      ->UseRealTime();
}

void walk_shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"m", "n", "k"})->UseRealTime();
  for (const dim_t rows : {16, 32, 64}) bench->Args({rows, 768, 256});
  bench->Args({32, 1536, 512});
}

void weight_gradient_shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"m", "n", "k"})
      ->Args({768, 256, 8192})
      ->Args({1536, 512, 8192})
      ->Args({10000, 256, 1024})
      ->UseRealTime();
}

BENCHMARK_CAPTURE(run_packed, layer_f32, Op::none, Precision::f32)->Apply(layer_shapes);
BENCHMARK_CAPTURE(run_packed, layer_bf16, Op::none, Precision::bf16)->Apply(layer_shapes);
BENCHMARK_CAPTURE(run_packed, layer_transposed_f32, Op::transpose, Precision::f32)
    ->ArgNames({"m", "n", "k"})
    ->Args({8192, 256, 768})
    ->Args({1024, 256, 10000})
    ->UseRealTime();
BENCHMARK_CAPTURE(run_packed, walk_f32, Op::none, Precision::f32)->Apply(walk_shapes);
BENCHMARK_CAPTURE(run_packed, walk_bf16, Op::none, Precision::bf16)->Apply(walk_shapes);
BENCHMARK_CAPTURE(run, weight_gradient_f32, Op::transpose, Op::none, Precision::f32)
    ->Apply(weight_gradient_shapes);
BENCHMARK_CAPTURE(run, weight_gradient_bf16, Op::transpose, Op::none, Precision::bf16)
    ->Apply(weight_gradient_shapes);

// What handing out 64 empty tasks costs.
void empty_tasks(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    parallel_for(64, [](dim_t task) { benchmark::DoNotOptimize(task); });
  }
}
BENCHMARK(empty_tasks)->UseRealTime();

}  // namespace
}  // namespace dsf
