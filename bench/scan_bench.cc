// The forms of the reverse diagonal scan against each other and against the speed of memory.
//
// Arguments are T steps, B sequences, S columns. bytes_per_second counts what a scan has to move at
// least: every element read once and written once. `memory` does just that.

#include <benchmark/benchmark.h>

#include <vector>

#include "dsf/base/buffer.h"
#include "dsf/base/rng.h"
#include "dsf/kernels/diagonal_scan.h"
#include "dsf/kernels/elementwise.h"

namespace {

using namespace dsf;

struct Problem {
  explicit Problem(const benchmark::State& state)
      : layout(PackedLayout::uniform(state.range(0), state.range(1))),
        a(static_cast<std::size_t>(state.range(2))),
        g(layout.total_rows(), state.range(2)) {
    Rng rng(1);
    for (float& x : a) x = static_cast<float>(rng.uniform());
    // The scan runs in place again and again: from zero it stays at zero.
    g.zero();
  }

  PackedLayout layout;
  std::vector<float> a;
  Matrix g;
};

void count_bytes(benchmark::State& state, const Problem& problem) {
  state.SetBytesProcessed(state.iterations() * problem.g.rows() * problem.g.cols() *
                          static_cast<dim_t>(2 * sizeof(float)));
}

void scan(benchmark::State& state, ScanForm form) {
  Problem problem(state);
  ScanWorkspace work;
  for (auto _ : state) {
    reverse_scan(form, problem.layout, problem.a, work, problem.g);
    benchmark::ClobberMemory();
  }
  count_bytes(state, problem);
}

void memory(benchmark::State& state) {
  Problem problem(state);
  const std::vector<float> zero(static_cast<std::size_t>(problem.g.cols()));
  for (auto _ : state) {
    add_bias(zero.data(), problem.g);
    benchmark::ClobberMemory();
  }
  count_bytes(state, problem);
}

// PTB's batch, a long text block, one very long sequence, and one that is narrow as well.
void shapes(benchmark::internal::Benchmark* bench) {
  bench->Args({35, 128, 256})->Args({512, 32, 512})->Args({16384, 1, 256})->Args({65536, 1, 16});
  bench->UseRealTime();
}

BENCHMARK(memory)->Apply(shapes);
BENCHMARK_CAPTURE(scan, serial, ScanForm::serial)->Apply(shapes);
BENCHMARK_CAPTURE(scan, blocked, ScanForm::blocked)->Apply(shapes);
BENCHMARK_CAPTURE(scan, fft, ScanForm::fft)->Apply(shapes);

}  // namespace
