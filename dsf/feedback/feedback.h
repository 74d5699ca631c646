#pragma once

// How gradients go back in time. A recurrent layer's backward pass is
//
//   1. feedback        e_t = dL_t/ds_t  ->  g_t = dL/ds_t
//   2. local backward  g_t -> gradients of the pre-activations of step t, s_{t-1} held constant
//   3. GEMMs over all rows for the parameters and the input
//
// Methods differ in 1 alone; docs/feedback.md has the list, with costs and derivations.
//
// A feedback says what is carried from step t to step t-1, by calling one verb of the BackwardPass it
// is handed (dsf/cells/backward_pass.h). A new feedback is a new file beside this one.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "dsf/base/named_buffer.h"
#include "dsf/cells/backward_pass.h"
#include "dsf/feedback/feedback_config.h"

namespace dsf {

/// The sizes of a batch's g [N, S].
struct GradientShape {
  dim_t rows = 0;   ///< N
  dim_t state = 0;  ///< S
  dim_t steps = 0;  ///< T
  dim_t batch = 0;  ///< B

  dim_t size() const { return rows * state; }
};

/// A way back through time. A recurrent layer owns one and calls run() for one batch after the
/// other. It owns its numbers and its memory. To add one, derive, and register it
/// (feedback_registry.h) or name it in make_feedback.
class Feedback {
 public:
  virtual ~Feedback() = default;

  /// On entry pass.g() holds e; on return every row's local backward is done, and pass.initial(), if
  /// asked for, holds the gradient of the initial states.
  virtual void run(BackwardPass& pass) = 0;

  /// Whether run() calls walk_jacobian or trial_walk, which need U packed for them.
  virtual JacobianUse jacobian_use() const { return {}; }

  /// Numbers that run() keeps beside g for a batch of this shape, at most, for estimates of memory
  /// (dsf/model/step_memory.h).
  virtual dim_t workspace_numbers(const GradientShape& /*g*/) const { return 0; }

  /// What a checkpoint keeps of it: fixed numbers, and what it has learned.
  virtual std::vector<NamedBuffer> buffers() { return {}; }
};

/// `state_size`: S. `seed` and `purpose` (one per layer) determine what is drawn at random.
/// Throws ConfigError on an unknown name, listing the known ones, or a range outside [0, 1].
std::unique_ptr<Feedback> make_feedback(const FeedbackConfig& config, dim_t state_size,
                                        std::uint64_t seed, std::string_view purpose);

}  // namespace dsf
