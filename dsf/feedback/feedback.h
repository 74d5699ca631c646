#pragma once

// How gradients go back in time. A recurrent layer's backward pass is
//
//   1. feedback        e_t = dL_t/ds_t  ->  g_t = dL/ds_t
//   2. local backward  g_t -> gradients of the pre-activations of step t, s_{t-1} held constant
//   3. GEMMs over all rows for the parameters and the input
//
//   BPTT     g_t = e_t + g_{t+1} J_{t+1}   J: the cell's Jacobian ds_{t+1}/ds_t   (paper, eq. 11)
//   DSF      g_t = e_t + a g_{t+1}         a: S fixed numbers in [0, 1]           (paper, eq. 13)
//   FT-BPTT  g_t = e_t
//   gated    g_t = e_t + g_{t+1} D_{t+1}   D: the part of J by which each unit acts on itself
//
// and what is built from them; docs/feedback.md has the list, with costs and derivations.
//
// A Feedback does 1 and sees to it that 2 happens for every row, in whichever order makes one pass
// of both. It knows the cell only through BackwardAccess; a new feedback is a new file beside this
// one.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "dsf/base/buffer.h"
#include "dsf/base/named_buffer.h"
#include "dsf/base/packed_layout.h"
#include "dsf/base/view.h"
#include "dsf/cells/own_path.h"
#include "dsf/cells/state_product.h"
#include "dsf/cells/step_span.h"
#include "dsf/feedback/feedback_config.h"
#include "dsf/kernels/diagonal_scan.h"

namespace dsf {

/// A cell on its way back through one batch, as feedbacks see it. g [N, S] holds all rows of the
/// batch. Each row's local backward is done exactly once, by one of the four ways.
class BackwardAccess {
 public:
  virtual ~BackwardAccess() = default;

  /// All rows at once, in parallel: g is final everywhere.
  virtual void local_backward_all(ConstMatrixF g) = 0;

  /// As a stream: the rows of a step as soon as their g is final, from inside a parallel task;
  /// then, once and outside of tasks, finish_local_backward. Bit for bit the same as
  /// local_backward_all.
  virtual void local_backward(StepRows rows, ConstMatrixF g) = 0;
  virtual void finish_local_backward() = 0;

  /// As BPTT does: local backward of the rows of step t and then, where t > 0, g_{t-1} += g_t J_t:
  /// by RestPath::all exactly, by RestPath::candidate with the gates held (dsf/cells/own_path.h).
  /// Only in a walk_backward by kSliceRows (dsf/cells/slices.h).
  virtual void backward_step(StepRows rows, RestPath path, MatrixF g) = 0;

  /// As the gated feedback does: local_backward of the rows of step t and then, where t > 0,
  /// g_{t-1} += g_t D_t (dsf/cells/own_path.h), elementwise in one pass over memory. From inside a
  /// parallel task; then, once and outside of tasks, finish_local_backward.
  virtual void own_path_step(StepRows rows, OwnPath path, MatrixF g) = 0;

  // Before any of the four, for the rows of a span of steps (dsf/cells/step_span.h) and as often as
  // wanted, from inside a parallel task that has the span's slot to itself: own_path_trial of each
  // of its steps, then rest_product.

  /// Memory for spans in `slots` slots; once, outside of tasks.
  virtual void begin_trials(dim_t slots) = 0;
  /// g_previous += g D_t, as own_path_step by OwnPath::gates, but on trial: it counts as no local
  /// backward. g [n, S]: g_t of the step's rows; g_previous [n, S]: theirs at t - 1, empty where
  /// t = 0. `path`: which rest_product is to follow.
  virtual void own_path_trial(const StepSpan& span, const SpanStep& step, RestPath path,
                              ConstMatrixF g, MatrixF g_previous) = 0;
  /// rest [rows of the span, S] overwritten: g_t R_t (dsf/cells/own_path.h), for the g of the
  /// trials, by matrix products over all of the span's rows at once.
  virtual void rest_product(const StepSpan& span, RestPath path, MatrixF rest) = 0;
};

/// Memory of a feedback's run, kept from step to step. Owned by the caller.
struct FeedbackWorkspace {
  ScanWorkspace scan;
  Matrix errors;       ///< [N, S]: e, where g alone would lose it
  Matrix step_errors;  ///< [B, S]: e of one step of each sequence
  Matrix rest;         ///< [., S]: the product under way: g (J - D), or g times a power of A
  Matrix guess;        ///< [., S]: g of the spans under way, before its last correction
  Matrix carried;      ///< [k B, S]: that of the step where each sequence's next span begins
  Matrix power;        ///< [S, S]: the power of A under way
  Matrix square;       ///< [S, S]: the next one
};

/// The sizes of a batch's g [N, S].
struct GradientShape {
  dim_t rows = 0;   ///< N
  dim_t state = 0;  ///< S
  dim_t steps = 0;  ///< T
  dim_t batch = 0;  ///< B

  dim_t size() const { return rows * state; }
};

/// A way back through time, an object a layer: run() is called for one batch after the other. To
/// add one, derive, and register it (feedback_registry.h) or name it in make_feedback.
class Feedback {
 public:
  virtual ~Feedback() = default;

  /// On entry g [N, S] holds e; on return it is used up, and every row's local backward is done.
  /// What a feedback learns on the way is in its buffers().
  virtual void run(const PackedLayout& layout, BackwardAccess& cell, FeedbackWorkspace& work,
                   MatrixF g) = 0;

  /// By which paths run() may call backward_step or rest_product, which need U packed for them.
  virtual StateProductUse state_products() const { return {}; }

  // What run() takes beside g, for estimates of memory (dsf/model/step_memory.h): by default
  // nothing. Who takes more and does not say so is underestimated by that much.

  /// Numbers of FeedbackWorkspace's matrices, carries and spectra for a batch of this shape, at
  /// most.
  virtual dim_t workspace_numbers(const GradientShape& /*g*/) const { return 0; }
  /// Slots of run()'s begin_trials, where it calls that: the cell keeps d of their spans.
  virtual dim_t trial_slots(dim_t /*batch*/) const { return 0; }

  virtual std::vector<NamedBuffer> buffers() { return {}; }
};

/// `state_size`: S. `seed` and `purpose` (one a layer) determine what is drawn at random.
/// Throws ConfigError on an unknown name, listing the known ones, or a range outside [0, 1].
std::unique_ptr<Feedback> make_feedback(const FeedbackConfig& config, dim_t state_size,
                                        std::uint64_t seed, std::string_view purpose);

}  // namespace dsf
