#ifndef DSF_NATIVE_H_
#define DSF_NATIVE_H_

/* The native part of the Python package, libdsf_native.so: a C ABI that python/dsf loads with ctypes.
 *
 * It is not linked to Python or to PyTorch, so one file serves every version of both. It belongs to the package it
 * is installed with: these functions change without notice, and a C++ program uses the library itself
 * (docs/library.md).
 *
 * Rules that hold for all of them:
 *   - A function that can fail returns a dsf_status. dsf_last_error() then has the sentence for it. No C++
 *     exception leaves the library.
 *   - Strings are UTF-8 and end with a zero byte. Those handed out belong to the library; each function says
 *     how long they live.
 *   - Every buffer is the caller's, unless a comment says otherwise, and is not kept beyond the call.
 *   - ctypes releases the GIL during a call. Callbacks are called on the thread of the call that takes them.
 */

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define DSF_API __attribute__((visibility("default")))

/* ---- errors (status.cc) -------------------------------------------------------------------------------------- */

/* What went wrong; python/dsf/errors.py has an exception for each. */
typedef enum dsf_status {
  DSF_OK = 0,
  DSF_USAGE_ERROR = 1,      /* dsf::UsageError */
  DSF_CONFIG_ERROR = 2,     /* dsf::ConfigError */
  DSF_DATA_ERROR = 3,       /* dsf::DataError */
  DSF_CHECKPOINT_ERROR = 4, /* dsf::CheckpointError */
  DSF_DIVERGENCE_ERROR = 5, /* dsf::DivergenceError */
  DSF_INTERRUPTED = 6,      /* dsf::InterruptedError */
  DSF_IO_ERROR = 7,         /* dsf::IoError, std::filesystem::filesystem_error */
  DSF_OUT_OF_MEMORY = 8,    /* std::bad_alloc */
  DSF_OTHER_ERROR = 9,      /* any other dsf::Error */
  DSF_INTERNAL_ERROR = 10   /* any other exception: a fault of this library */
} dsf_status;

/* The sentence of the last call on this thread that failed. It lives until the next one that fails. */
DSF_API const char* dsf_last_error(void);

/* ---- the library itself (library.cc) ------------------------------------------------------------------------- */

/* "0.1.0". It lives for ever. */
DSF_API const char* dsf_library_version(void);

/* ---- recurrent layers (layer.cc) ----------------------------------------------------------------------------- */

/* ---- training (training.cc) ---------------------------------------------------------------------------------- */

/* ---- trained models (model.cc) ------------------------------------------------------------------------------- */

#if defined(__cplusplus)
}
#endif

#endif /* DSF_NATIVE_H_ */
