#pragma once

// The names of the feedbacks, as --feedback and feedback.method take them.

#include <string>
#include <string_view>
#include <vector>

#include "dsf/base/dim.h"

namespace dsf {

enum class FeedbackKind {
  bptt,
  ft,
  dsf,
  gated,
  gated_diagonal,
  gated_dsf,
  iterated,
  iterated_dsf,
  candidate,
  candidate_dsf,
  windows,
  windows_candidate,
  bptt_candidate,
  bptt_rank,
  fitted,
  adaptive,
  learned,
  pairs,
  blocks,
  lowrank,
  dense,
  orthogonal
};

struct FeedbackMethod {
  FeedbackKind kind = FeedbackKind::dsf;
  dim_t number = 0;  ///< K of bptt:rank:K, iterated:K, candidate:K, blocks:K, lowrank:K and so on
};

/// Every name; ":K" stands for a whole number in place of K.
const std::vector<std::string>& feedback_methods();

/// Of the library's own; one that is registered (feedback_registry.h) has no kind. Throws
/// ConfigError with the known names.
FeedbackMethod parse_feedback_method(std::string_view name);

/// True where some batches go back exactly, for the feedback to learn from them: `fitted`,
/// `adaptive`, `learned`. One that is registered is taken not to. Throws ConfigError on an unknown
/// name.
bool learns_from_batches(std::string_view name);

/// True where `value` is `name` or, for a name that ends in ":K", has a whole number there.
bool is_named(std::string_view value, std::string_view name);

}  // namespace dsf
