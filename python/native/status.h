#pragma once

#include <exception>

#include "dsf/kernels/parallel.h"
#include "python/native/dsf_native.h"

namespace dsf::native {

/// Keeps the sentence of `error` for dsf_last_error(); its kind is returned.
dsf_status keep_error(const std::exception& error) noexcept;

/// Calls `work`, which no exception leaves. The thread's floating-point mode is as before when it returns.
template <typename Work>
dsf_status guarded(Work&& work) noexcept {
  const FlushedDenormals flushed;
  try {
    work();
    return DSF_OK;
  } catch (const std::exception& error) {
    return keep_error(error);
  }
}

}  // namespace dsf::native
