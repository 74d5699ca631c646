#pragma once

// The names of the feedbacks, as --feedback and feedback.method take them: the one table of them.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsf/base/dim.h"

namespace dsf {

enum class FeedbackKind {
  bptt,
  ft,
  dsf,
  bptt_rank,
  gated,
  gated_dsf,
  iterated,
  adaptive,
  pairs,
  lowrank,
  orthogonal,
  dense
};

/// One row of the table.
struct FeedbackEntry {
  std::string_view name;  ///< ":K" stands for a whole number, "[:K]" for one that may be left out
  FeedbackKind kind = FeedbackKind::dsf;
  std::string_view title;    ///< as people write it in a table or figure
  std::string_view example;  ///< the name under which comparisons of methods try it
  std::string_view summary;  ///< what it is, in one line of help
};

/// Every method of the library, the paper's three first.
std::span<const FeedbackEntry> feedback_table();

/// The names of feedback_table().
std::vector<std::string> feedback_methods();

/// "BPTT" for "bptt"; a name that the table does not have stays as it is.
std::string feedback_title(std::string_view name);

/// The examples of all methods, for comparisons.
std::vector<std::string> feedback_examples();

/// A name, parsed.
struct FeedbackMethod {
  FeedbackKind kind = FeedbackKind::dsf;
  std::optional<dim_t> number;  ///< K, if the name has one
};

/// Parses a name of the library's own methods; a registered one (feedback_registry.h) has no kind. Throws
/// ConfigError with the known names, or with the nearest one if the method was there once.
FeedbackMethod parse_feedback_method(std::string_view name);

/// The nearest method of today if `name` was one once; otherwise nothing.
std::optional<std::string_view> successor_of_removed(std::string_view name);

/// True if some batches go back exactly, for the feedback to learn from them. One that is
/// registered is taken not to. Throws ConfigError on an unknown name.
bool learns_from_batches(std::string_view name);

/// True if `value` is `name` with a whole number in the place of K, if that has one.
bool is_named(std::string_view value, std::string_view name);

}  // namespace dsf
