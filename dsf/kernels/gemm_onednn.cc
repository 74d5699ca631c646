#include "dsf/kernels/gemm_onednn.h"

#include <omp.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX, sigset_t and its functions

#include <algorithm>
#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <oneapi/dnnl/dnnl.hpp>

#include "dsf/base/error.h"
#include "dsf/kernels/rows.h"

namespace dsf::onednn {
namespace {

using dnnl::memory;

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

dnnl::matmul::primitive_desc describe_matmul(const memory::desc& a, const memory::desc& b,
                                             const memory::desc& c, Into into,
                                             const dnnl::engine& engine) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (into == Into::accumulate) {
    dnnl::post_ops ops;
    ops.append_sum(1.0F);
    attr.set_post_ops(ops);
  }
  constexpr bool kEmptyWhereUnsupported = true;
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(engine, a, b, c, attr, kEmptyWhereUnsupported);
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), attr, engine,
                                      kEmptyWhereUnsupported);
#endif
}

bool is_fast(const dnnl::matmul::primitive_desc& primitive) {
  constexpr bool kMayBeEmpty = true;
  if (primitive.get(kMayBeEmpty) == nullptr) return false;
  return !std::string_view(primitive.impl_info_str()).starts_with("ref");
}

memory::data_type type_of(Precision precision) {
  return precision == Precision::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

// op(X) [rows, cols], X stored row-major with the given stride.
memory::desc plain_desc(Op op, Precision precision, dim_t rows, dim_t cols, dim_t stride) {
  const memory::dims strides = op == Op::none ? memory::dims{stride, 1} : memory::dims{1, stride};
  return {{rows, cols}, type_of(precision), strides};
}

// All that decides which primitive computes a product. ldb 0: B is packed.
struct MatmulKey {
  Precision precision;
  Op op_a;
  Op op_b;
  Into into;
  dim_t m, n, k;
  dim_t lda, ldb, ldc;

  auto operator<=>(const MatmulKey&) const = default;  // NOLINT(modernize-use-nullptr): misfires
};

struct LayoutKey {
  Precision precision;
  dim_t k, n;

  auto operator<=>(const LayoutKey&) const = default;  // NOLINT(modernize-use-nullptr): misfires
};

// A compiled product with its arguments; their addresses are set call by call.
struct CompiledMatmul {
  bool fast = false;
  dnnl::matmul primitive;
  memory a, b, c, scratch;
  dim_t scratch_bytes = 0;
  std::unordered_map<int, memory> arguments;
};

// What a thread keeps from call to call. Nothing of oneDNN is shared between threads.
class ThreadCache {
 public:
  static ThreadCache& here() {
    thread_local ThreadCache cache;
    return cache;
  }

  const memory::desc& packed_layout(const LayoutKey& key) {
    const auto found = layouts_.find(key);
    if (found != layouts_.end()) return found->second;
    // Chosen for one typical number of rows and then used for every number of rows.
    constexpr dim_t kTypicalRows = 64;
    const auto primitive = describe_matmul(
        plain_desc(Op::none, key.precision, kTypicalRows, key.k, key.k),
        memory::desc({key.k, key.n}, type_of(key.precision), memory::format_tag::any),
        plain_desc(Op::none, Precision::f32, kTypicalRows, key.n, key.n), Into::overwrite, engine_);
    make_room(layouts_);
    return layouts_
        .emplace(key, is_fast(primitive) ? primitive.weights_desc()
                                         : plain_desc(Op::none, key.precision, key.k, key.n, key.n))
        .first->second;
  }

  CompiledMatmul& compiled(const MatmulKey& key) {
    const auto found = matmuls_.find(key);
    if (found != matmuls_.end()) return found->second;
    const memory::desc a = plain_desc(key.op_a, key.precision, key.m, key.k, key.lda);
    const memory::desc b = key.ldb == 0
                               ? packed_layout({key.precision, key.k, key.n})
                               : plain_desc(key.op_b, key.precision, key.k, key.n, key.ldb);
    const memory::desc c = plain_desc(Op::none, Precision::f32, key.m, key.n, key.ldc);
    make_room(matmuls_);
    return matmuls_.emplace(key, compile(a, b, c, key.into)).first->second;
  }

  void execute(CompiledMatmul& product, const void* a, const void* b, float* c) {
    scratch_.ensure(product.scratch_bytes);
    // oneDNN takes no pointers to const, and does not write to sources.
    product.a.set_data_handle(const_cast<void*>(a));
    product.b.set_data_handle(const_cast<void*>(b));
    product.c.set_data_handle(c);
    product.scratch.set_data_handle(scratch_.data());
    product.primitive.execute(stream_, product.arguments);
    stream_.wait();
  }

  void reorder(const memory::desc& from_desc, const void* from, const memory::desc& to_desc,
               void* to) {
    memory source(from_desc, engine_, const_cast<void*>(from));
    memory target(to_desc, engine_, to);
    dnnl::reorder(source, target).execute(stream_, source, target);
    stream_.wait();
  }

  // Dense copies of strided operands.
  Buffer<std::byte> dense_a;
  Buffer<float> dense_c;

 private:
  // Far more than the shapes of a training run; what varies without end starts anew now and then.
  template <typename Map>
  static void make_room(Map& map) {
    constexpr std::size_t kMost = 1024;
    if (map.size() >= kMost) map.clear();
  }

  CompiledMatmul compile(const memory::desc& a, const memory::desc& b, const memory::desc& c,
                         Into into) const {
    const auto description = describe_matmul(a, b, c, into, engine_);
    constexpr bool kMayBeEmpty = true;
    CompiledMatmul product;
    if (description.get(kMayBeEmpty) == nullptr) return product;
    const memory::desc scratch = description.scratchpad_desc();
    product.fast = is_fast(description);
    product.primitive = dnnl::matmul(description);
    product.a = memory(a, engine_, nullptr);
    product.b = memory(b, engine_, nullptr);
    product.c = memory(c, engine_, nullptr);
    product.scratch = memory(scratch, engine_, nullptr);
    product.scratch_bytes = static_cast<dim_t>(scratch.get_size());
    product.arguments = {{DNNL_ARG_SRC, product.a},
                         {DNNL_ARG_WEIGHTS, product.b},
                         {DNNL_ARG_DST, product.c},
                         {DNNL_ARG_SCRATCHPAD, product.scratch}};
    return product;
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<LayoutKey, memory::desc> layouts_;
  std::map<MatmulKey, CompiledMatmul> matmuls_;
  Buffer<std::byte> scratch_;
};

// The same matrix with its rows one after the other, copied into `memory`.
OperandView make_dense(const OperandView& x, Buffer<std::byte>& memory) {
  const dim_t row_bytes = x.cols * element_bytes(x.precision);
  memory.ensure(x.rows * row_bytes);
  for (dim_t i = 0; i < x.rows; ++i) {
    std::copy_n(static_cast<const std::byte*>(x.at(i, 0)), row_bytes,
                memory.data() + i * row_bytes);
  }
  OperandView dense = x;
  dense.data = memory.data();
  dense.stride = x.cols;
  return dense;
}

}  // namespace

bool has_amx() {
  static const bool has =
      (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_amx) == dnnl_cpu_isa_avx512_core_amx;
  return has;
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

bool matmul(Op op_a, const OperandView& a, Op op_b, const OperandView& b, Into into, MatrixF c) {
  const SingleThreaded single;
  ThreadCache& cache = ThreadCache::here();
  CompiledMatmul& product = cache.compiled({.precision = a.precision,
                                            .op_a = op_a,
                                            .op_b = op_b,
                                            .into = into,
                                            .m = c.rows,
                                            .n = c.cols,
                                            .k = op_a == Op::none ? a.cols : a.rows,
                                            .lda = a.stride,
                                            .ldb = b.stride,
                                            .ldc = c.stride});
  if (!product.fast) return false;
  cache.execute(product, a.data, b.data, c.data);
  return true;
}

void PackedPanel::pack(Op op, const OperandView& source) {
  const SingleThreaded single;
  ThreadCache& cache = ThreadCache::here();
  precision_ = source.precision;
  k_ = op == Op::none ? source.rows : source.cols;
  n_ = op == Op::none ? source.cols : source.rows;
  const memory::desc& layout = cache.packed_layout({precision_, k_, n_});
  bytes_.ensure(static_cast<dim_t>(layout.get_size()));
  cache.reorder(plain_desc(op, precision_, k_, n_, source.stride), source.data, layout,
                bytes_.data());
}

void PackedPanel::multiply(const OperandView& a, Into into, MatrixF c) const {
  const SingleThreaded single;
  ThreadCache& cache = ThreadCache::here();
  MatmulKey key{.precision = precision_,
                .op_a = Op::none,
                .op_b = Op::none,
                .into = into,
                .m = c.rows,
                .n = n_,
                .k = k_,
                .lda = a.stride,
                .ldb = 0,
                .ldc = c.stride};
  CompiledMatmul& product = cache.compiled(key);
  const bool dense = a.stride == a.cols && c.dense();
  if (product.fast || dense) return cache.execute(product, a.data, bytes_.data(), c.data);

  // Older versions have fast kernels for contiguous rows only.
  const OperandView dense_a = make_dense(a, cache.dense_a);
  cache.dense_c.ensure(c.rows * c.cols);
  const MatrixF dense_c(cache.dense_c.data(), c.rows, c.cols);
  if (into == Into::accumulate) copy_rows(c, dense_c);
  key.lda = dense_a.stride;
  key.ldc = dense_c.stride;
  cache.execute(cache.compiled(key), dense_a.data, bytes_.data(), dense_c.data);
  copy_rows(dense_c, c);
}

}  // namespace dsf::onednn
