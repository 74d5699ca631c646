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

/* Bytes that the library hands out. They live until the next call on this thread that hands out some. */
typedef struct dsf_text {
  const char* data;
  size_t size; /* a zero byte follows, and some may be inside */
} dsf_text;

/* ---- messages (messages.cc) ---------------------------------------------------------------------------------- */

/* From here on the messages of the library are kept for dsf_next_message instead of being written to stderr. */
DSF_API void dsf_keep_messages(void);

/* The oldest message that nobody has asked for yet: *kind is 0 for information, 1 for a warning, 2 for an error,
 * -1 if there is none. */
DSF_API dsf_status dsf_next_message(int* kind, dsf_text* message);

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

/* Runs member(context) on so many threads at once, the caller among them, or on less: OpenMP's GOMP_parallel. */
typedef void (*dsf_team)(void (*member)(void* context), void* context, unsigned threads,
                         unsigned flags);

/* From here on layers compute on the threads of this team, in this process; one that forks off has threads of ours. */
DSF_API void dsf_layer_team(dsf_team team);

/* ---- training (training.cc) ---------------------------------------------------------------------------------- */

/* Told what happens in a run. `event` is "start", "step", "eval" or "ask", `json` the object that the run's log has
 * for it, and "" for "ask", which comes at every step and before every batch of an evaluation. A return value other
 * than 0 asks the run to save and stop after the step at hand. */
typedef int (*dsf_train_callback)(const char* event, const char* json);

/* What `dsf train` takes. A key of the configuration is "section.key" or the key alone (dsf/run/config_keyword.h). */
typedef struct dsf_train_request {
  const char* out;           /* directory of the run */
  const char* config_file;   /* a TOML file, or null */
  const char* const* names;  /* [count] keys */
  const char* const* values; /* [count] their values, as text */
  int64_t count;
  int resume;
  int force;
  int force_memory;
  int verbose;    /* show progress: on a terminal one line on stderr, elsewhere as messages */
  int tell_steps; /* call the callback with "step" too */
} dsf_train_request;

/* Trains. *summary is a JSON object, the last line of the log; its "event" is "interrupted" if the callback asked to
 * stop. */
DSF_API dsf_status dsf_train(const dsf_train_request* request, dsf_train_callback callback,
                             dsf_text* summary);

/* ---- run directories (runs.cc) ------------------------------------------------------------------------------- */

/* What `dsf runs --json` prints for `directory`: a JSON array. */
DSF_API dsf_status dsf_runs(const char* directory, dsf_text* json);

/* The log of a run: a JSON array with its whole lines. */
DSF_API dsf_status dsf_run_log(const char* run, dsf_text* json);

/* ---- trained models (model.cc) ------------------------------------------------------------------------------- */

/* A model out of a run directory. Calls from several threads take turns. */
typedef struct dsf_model dsf_model;

/* `checkpoint`: "best", "last", or "" for the best one that is whole. `threads` 0: as many as there are CPUs. The
 * caller closes *model. */
DSF_API dsf_status dsf_model_open(const char* run, const char* checkpoint, int64_t threads,
                                  dsf_model** model);
DSF_API void dsf_model_close(dsf_model* model);

/* A JSON object: run, checkpoint, step, vocab, parameters, tokenizer (its kind), bos, eos, unk (-1: none),
 * first_token (what stands before the text of a sequence), and config, an object of sections. */
DSF_API dsf_status dsf_model_describe(dsf_model* model, dsf_text* json);

/* Tokens of a text, as training text is read: each line end is eos. *tokens is the library's and lives until the next
 * such call on this thread. */
DSF_API dsf_status dsf_model_encode(dsf_model* model, const char* text, size_t size,
                                    const int32_t** tokens, int64_t* count);
/* tokens: [count]. */
DSF_API dsf_status dsf_model_decode(dsf_model* model, const int32_t* tokens, int64_t count,
                                    dsf_text* text);

/* tokens: [count], read from a zero state. logits: [count, vocab], overwritten; row t is for the token behind
 * tokens[t]. */
DSF_API dsf_status dsf_model_logits(dsf_model* model, const int32_t* tokens, int64_t count,
                                    float* logits);

/* What is to be evaluated: `text` if it is not null, otherwise `file` if it is not null, otherwise `split` of the
 * corpus, which is `data` if that is not null. */
typedef struct dsf_evaluation {
  const char* split;
  const char* data;
  const char* file;
  const char* text;
  size_t text_size;
  int stream; /* one state through the whole text */
} dsf_evaluation;

/* What `dsf eval --json` prints: a JSON object. */
DSF_API dsf_status dsf_model_evaluate(dsf_model* model, const dsf_evaluation* evaluation,
                                      dsf_text* json);

/* What `dsf export` writes: `file`, and config.json beside it. onnx: not 0 for ONNX, 0 for safetensors. force: not 0 to
 * replace files that are there. */
DSF_API dsf_status dsf_model_export(dsf_model* model, const char* file, int onnx, int force);

/* Parameters, by the names that an exported file has (dsf/use/interchange.h). shape: [2], its second number 0 for a
 * vector. *name is the library's and lives until the next call on this thread that hands out text; *data [rows, columns] or
 * [size] lives as long as the model and is not to be changed. */
DSF_API int64_t dsf_model_parameter_count(const dsf_model* model);
DSF_API dsf_status dsf_model_parameter(dsf_model* model, int64_t index, const char** name,
                                       int64_t* shape, const float** data);

/* A text that grows. The model must stay open as long as it does. */
typedef struct dsf_generation dsf_generation;

typedef struct dsf_sampling {
  double temperature;
  int64_t top_k;
  double top_p;
  double min_p;
  uint64_t seed;
} dsf_sampling;

/* Reads the prompt. The caller closes *generation. */
DSF_API dsf_status dsf_generation_open(dsf_model* model, const char* prompt, size_t size,
                                       const dsf_sampling* sampling, dsf_generation** generation);
DSF_API void dsf_generation_close(dsf_generation* generation);
/* Draws a token; *text is what it adds, whole UTF-8, which may be nothing. */
DSF_API dsf_status dsf_generation_next(dsf_generation* generation, dsf_text* text);
/* What is left of a character that nobody finished. */
DSF_API dsf_status dsf_generation_finish(dsf_generation* generation, dsf_text* text);

#if defined(__cplusplus)
}
#endif

#endif /* DSF_NATIVE_H_ */
