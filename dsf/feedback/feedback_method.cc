#include "dsf/feedback/feedback_method.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/feedback/feedback_registry.h"

namespace dsf {
namespace {

constexpr std::array<std::pair<std::string_view, FeedbackKind>, 22> kMethods = {
    {{"bptt", FeedbackKind::bptt},
     {"ft", FeedbackKind::ft},
     {"dsf", FeedbackKind::dsf},
     {"gated", FeedbackKind::gated},
     {"gated:diagonal", FeedbackKind::gated_diagonal},
     {"gated:dsf", FeedbackKind::gated_dsf},
     {"iterated:K", FeedbackKind::iterated},
     {"iterated:dsf:K", FeedbackKind::iterated_dsf},
     {"candidate:K", FeedbackKind::candidate},
     {"candidate:dsf:K", FeedbackKind::candidate_dsf},
     {"windows:K", FeedbackKind::windows},
     {"windows:candidate:K", FeedbackKind::windows_candidate},
     {"bptt:candidate", FeedbackKind::bptt_candidate},
     {"bptt:rank:K", FeedbackKind::bptt_rank},
     {"fitted", FeedbackKind::fitted},
     {"adaptive", FeedbackKind::adaptive},
     {"learned", FeedbackKind::learned},
     {"pairs", FeedbackKind::pairs},
     {"blocks:K", FeedbackKind::blocks},
     {"lowrank:K", FeedbackKind::lowrank},
     {"dense", FeedbackKind::dense},
     {"orthogonal", FeedbackKind::orthogonal}}};

constexpr std::string_view kNumber = ":K";
constexpr std::size_t kMostDigits = 9;  // more is a slip of the finger, and fits no counter

// "iterated:3" -> "3" for "iterated:K"; empty where `value` does not have that form.
std::string_view number_in(std::string_view value, std::string_view name) {
  if (!name.ends_with(kNumber)) return {};
  const std::string_view stem = name.substr(0, name.size() - 1);
  if (!value.starts_with(stem)) return {};
  const std::string_view digits = value.substr(stem.size());
  const bool whole = digits.size() <= kMostDigits &&
                     std::all_of(digits.begin(), digits.end(),
                                 [](char digit) { return digit >= '0' && digit <= '9'; });
  return whole ? digits : std::string_view{};
}

}  // namespace

const std::vector<std::string>& feedback_methods() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    list.reserve(kMethods.size());
    for (const auto& [name, kind] : kMethods) list.emplace_back(name);
    return list;
  }();
  return names;
}

bool is_named(std::string_view value, std::string_view name) {
  return name.ends_with(kNumber) ? !number_in(value, name).empty() : value == name;
}

FeedbackMethod parse_feedback_method(std::string_view name) {
  for (const auto& [known, kind] : kMethods) {
    if (!is_named(name, known)) continue;
    FeedbackMethod method{kind, 0};
    const std::string_view digits = number_in(name, known);
    std::from_chars(digits.data(), digits.data() + digits.size(), method.number);
    return method;
  }
  throw ConfigError(fmt::format("feedback.method = \"{}\" is unknown; known: {}", name,
                                fmt::join(feedback_methods(), ", ")));
}

bool learns_from_batches(std::string_view name) {
  if (registered_feedback(name) != nullptr) return false;
  const FeedbackKind kind = parse_feedback_method(name).kind;
  return kind == FeedbackKind::fitted || kind == FeedbackKind::adaptive ||
         kind == FeedbackKind::learned;
}

}  // namespace dsf
