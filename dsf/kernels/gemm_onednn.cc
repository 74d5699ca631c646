#include "dsf/kernels/gemm_onednn.h"

#include <omp.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX, sigset_t and its functions

#include <string>

#include <oneapi/dnnl/dnnl.h>

#include "dsf/base/error.h"

namespace dsf::onednn {
namespace {

// oneDNN spreads its work over OpenMP threads of its own; here the tiles already are the parallel
// work. The setting belongs to the thread and is put back, for a host program that uses OpenMP.
class SingleThreaded {
 public:
  SingleThreaded() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~SingleThreaded() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  SingleThreaded(const SingleThreaded&) = delete;
  SingleThreaded& operator=(const SingleThreaded&) = delete;

 private:
  int before_;
};

// While sgemm's kernels run, the stack pointer may point into a buffer on the heap (all versions
// before the repair of March 2026, uxlfoundation/oneDNN#4845): a signal handler's frame would
// overwrite whatever lies below that buffer. So signals wait until the product is done, a
// millisecond at most. Those that report an error of the code itself cannot wait.
class SignalsWait {
 public:
  SignalsWait() { pthread_sigmask(SIG_BLOCK, &those_that_can(), &before_); }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  static const sigset_t& those_that_can() {
    static const sigset_t signals = [] {
      sigset_t set;
      sigfillset(&set);
      for (const int error : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
        sigdelset(&set, error);
      }
      return set;
    }();
    return signals;
  }

  sigset_t before_;
};

}  // namespace

void limit_to(Isa isa) {
  // Without effect, and without harm, if a host program has made oneDNN choose already.
  switch (isa) {
    case Isa::avx2:
      (void)dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
      return;
    case Isa::avx512:
      (void)dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core);
      return;
    case Isa::avx512_bf16:
      (void)dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16);
      return;
    case Isa::amx:
      return;  // no limit; its name differs between oneDNN 2 and 3
  }
}

void sgemm(Op op_a, ConstMatrixF a, Op op_b, ConstMatrixF b, Into into, MatrixF c) {
  const SingleThreaded single;
  const SignalsWait signals_wait;
  const dim_t k = op_a == Op::none ? a.cols : a.rows;
  const dnnl_status_t status = dnnl_sgemm(
      op_a == Op::none ? 'N' : 'T', op_b == Op::none ? 'N' : 'T', c.rows, c.cols, k, 1.0F, a.data,
      a.stride, b.data, b.stride, into == Into::accumulate ? 1.0F : 0.0F, c.data, c.stride);
  if (status != dnnl_success) {
    throw Error("oneDNN failed to multiply [" + std::to_string(c.rows) + ", " + std::to_string(k) +
                "] by [" + std::to_string(k) + ", " + std::to_string(c.cols) + "] (status " +
                std::to_string(status) + ")");
  }
}

}  // namespace dsf::onednn
