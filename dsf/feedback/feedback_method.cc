#include "dsf/feedback/feedback_method.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/feedback/feedback_registry.h"

namespace dsf {
namespace {

constexpr auto kTable = std::to_array<FeedbackEntry>({
    {"bptt", FeedbackKind::bptt, "BPTT", "bptt", "back-propagation through time, exact"},
    {"ft", FeedbackKind::ft, "FT-BPTT", "ft", "fully truncated: nothing goes back in time"},
    {"dsf", FeedbackKind::dsf, "DSF", "dsf", "the paper's fixed diagonal, one scan"},
    {"bptt:rank[:K]", FeedbackKind::bptt_rank, "bptt:rank", "bptt:rank",
     "BPTT through factors of U of rank K; without K a quarter of the width"},
    {"gated", FeedbackKind::gated, "gated", "gated", "the diagonal that the gates have"},
    {"gated:dsf", FeedbackKind::gated_dsf, "gated:dsf", "gated:dsf",
     "the gates' diagonal, and DSF's of what it forgets"},
    {"iterated:K", FeedbackKind::iterated, "iterated", "iterated:1",
     "the gates' diagonal, corrected K times by products over all steps at once"},
    {"adaptive", FeedbackKind::adaptive, "adaptive", "adaptive",
     "DSF whose diagonal is fitted to the Jacobian"},
    {"pairs", FeedbackKind::pairs, "pairs", "pairs", "a complex diagonal, as in S4D"},
    {"lowrank:K", FeedbackKind::lowrank, "lowrank", "lowrank:8",
     "a diagonal and a fixed matrix of rank K"},
    {"orthogonal", FeedbackKind::orthogonal, "orthogonal", "orthogonal",
     "a fixed orthogonal matrix"},
    {"dense", FeedbackKind::dense, "dense", "dense", "a fixed matrix, for study"},
});

/// Methods that were tried and removed (docs/feedback-results.md), and the nearest that stayed.
constexpr auto kRemoved = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"gated:diagonal", "gated"},
    {"iterated:dsf:K", "iterated:K"},
    {"candidate:K", "bptt:rank"},
    {"candidate:dsf:K", "bptt:rank"},
    {"windows:K", "bptt:rank"},
    {"windows:candidate:K", "bptt:rank"},
    {"bptt:candidate", "bptt:rank"},
    {"fitted", "adaptive, with feedback.refit_every = 0"},
    {"learned", "adaptive"},
    {"blocks:K", "orthogonal"},
});

constexpr std::string_view kNumber = ":K";
constexpr std::string_view kOptionalNumber = "[:K]";
constexpr std::size_t kMostDigits = 9;  // more is a slip of the finger, and fits no counter

/// K of `value` = `stem`:K.
std::optional<dim_t> number_after(std::string_view stem, std::string_view value) {
  if (!value.starts_with(stem) || !value.substr(stem.size()).starts_with(':')) return std::nullopt;
  const std::string_view digits = value.substr(stem.size() + 1);
  const bool whole = !digits.empty() && digits.size() <= kMostDigits &&
                     digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!whole) return std::nullopt;
  dim_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

/// "iterated" of "iterated:K" and "bptt:rank" of "bptt:rank[:K]".
std::string_view stem_of(std::string_view name) {
  for (const std::string_view number : {kOptionalNumber, kNumber}) {
    if (name.ends_with(number)) return name.substr(0, name.size() - number.size());
  }
  return name;
}

const FeedbackEntry* find_entry(std::string_view name) {
  for (const FeedbackEntry& entry : kTable) {
    if (is_named(name, entry.name)) return &entry;
  }
  return nullptr;
}

}  // namespace

std::span<const FeedbackEntry> feedback_table() { return kTable; }

std::vector<std::string> feedback_methods() {
  std::vector<std::string> names;
  names.reserve(kTable.size());
  for (const FeedbackEntry& entry : kTable) names.emplace_back(entry.name);
  return names;
}

std::string feedback_title(std::string_view name) {
  const FeedbackEntry* entry = find_entry(name);
  return std::string(entry != nullptr && entry->example == name ? entry->title : name);
}

std::vector<std::string> feedback_examples() {
  std::vector<std::string> names;
  names.reserve(kTable.size());
  for (const FeedbackEntry& entry : kTable) names.emplace_back(entry.example);
  return names;
}

bool is_named(std::string_view value, std::string_view name) {
  const std::string_view stem = stem_of(name);
  const bool takes_number = stem.size() < name.size();
  const bool needs_number = takes_number && !name.ends_with(kOptionalNumber);
  if (value == stem) return !needs_number;
  return takes_number && number_after(stem, value).has_value();
}

FeedbackMethod parse_feedback_method(std::string_view name) {
  if (const FeedbackEntry* entry = find_entry(name)) {
    return {entry->kind, number_after(stem_of(entry->name), name)};
  }
  if (const auto nearest = successor_of_removed(name)) {
    throw ConfigError(fmt::format(
        "feedback.method = \"{}\" is not there any more; the nearest that is: {}", name, *nearest));
  }
  throw ConfigError(fmt::format("feedback.method = \"{}\" is unknown; known: {}", name,
                                fmt::join(feedback_methods(), ", ")));
}

std::optional<std::string_view> successor_of_removed(std::string_view name) {
  for (const auto& [removed, nearest] : kRemoved) {
    if (is_named(name, removed)) return nearest;
  }
  return std::nullopt;
}

bool learns_from_batches(std::string_view name) {
  if (registered_feedback(name) != nullptr) return false;
  return parse_feedback_method(name).kind == FeedbackKind::adaptive;
}

}  // namespace dsf
