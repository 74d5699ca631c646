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

/* T steps, B sequences, N rows, I inputs, D hidden units, K gates, S state size: D, or 2D for the LSTM's [h, c].
 * All strides are counted in numbers. Numbers are float32, or bfloat16 if dsf_layer.bf16 is not 0; `a` and the tape
 * are float32 in any case. */

/* A tensor [T, B, width]; or, if the batch is packed, [N, width], whose rows are `sequence` apart. The numbers of
 * a row follow each other. */
typedef struct dsf_rows {
  void* data; /* null: no such tensor */
  int64_t step;
  int64_t sequence;
} dsf_rows;

/* h [B, D] and, for the LSTM, c [B, D], rows `stride` apart. */
typedef struct dsf_states {
  void* h; /* null: no such tensor */
  void* c;
  int64_t stride;
} dsf_states;

/* One layer in one direction. */
typedef struct dsf_layer {
  const char* cell;     /* rnn_tanh, rnn_relu, gru, lstm */
  const char* feedback; /* a method of the library without numbers of its own, dsf or gated:dsf */
  int64_t bf16;
  int64_t reverse; /* from each sequence's last step to its first */
  int64_t threads; /* at most */
  int64_t steps;
  int64_t batch;
  int64_t input;
  int64_t hidden;
  const int64_t*
      batch_sizes; /* [T] if the batch is packed: B_0 >= B_1 >= ... > 0; otherwise null */

  dsf_rows x;
  dsf_states initial;    /* null: zeros */
  const void* weight_ih; /* [KD, I], gates in PyTorch's order, contiguous, as the next three */
  const void* weight_hh; /* [KD, D] */
  const void* bias_ih;   /* [KD], or null */
  const void* bias_hh;   /* [KD], or null */
  const float* a;        /* [S]; backward with dsf and gated:dsf alone */

  /* forward overwrites these */
  dsf_rows output;
  int64_t output_width; /* D, or S for h and c */
  dsf_states last;
  float* tape; /* what backward needs, see dsf_layer_tape(); null: nothing is kept */

  /* backward: reads x, weights, a, tape and these */
  dsf_rows grad_output;
  dsf_states grad_last;
  /* and overwrites these, contiguous */
  dsf_rows d_x; /* null: not wanted */
  dsf_states d_initial;
  void* d_weight_ih;
  void* d_weight_hh;
  void* d_bias_ih; /* null: there is no bias */
  void* d_bias_hh;
} dsf_layer;

DSF_API dsf_status dsf_layer_forward(const dsf_layer* layer);

/* As often as wanted after a forward with a tape, which stays as it was. */
DSF_API dsf_status dsf_layer_backward(const dsf_layer* layer);

/* The size of a tape is N (numbers[0] D + numbers[1]) + B numbers[2] D. */
DSF_API dsf_status dsf_layer_tape(const char* cell, int64_t numbers[3]);

/* ---- training (training.cc) ---------------------------------------------------------------------------------- */

/* ---- trained models (model.cc) ------------------------------------------------------------------------------- */

#if defined(__cplusplus)
}
#endif

#endif /* DSF_NATIVE_H_ */
