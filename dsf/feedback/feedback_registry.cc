#include "dsf/feedback/feedback_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/feedback/feedback_method.h"

namespace dsf {
namespace {

using Entry = std::pair<std::string, FeedbackFactory>;

std::vector<Entry>& entries() {
  static std::vector<Entry> registered;
  return registered;
}

}  // namespace

void register_feedback(const std::string& name, FeedbackFactory factory) {
  const bool taken =
      std::ranges::any_of(feedback_table(),
                          [&](const auto& own) { return is_named(name, own.name); }) ||
      registered_feedback(name) != nullptr;
  if (taken || name.empty()) {
    throw ConfigError(fmt::format("a feedback cannot be registered as \"{}\": {}", name,
                                  taken ? "the name is taken" : "the name is empty"));
  }
  entries().emplace_back(name, std::move(factory));
}

const FeedbackFactory* registered_feedback(std::string_view name) {
  for (const auto& [known, factory] : entries()) {
    if (known == name) return &factory;
  }
  return nullptr;
}

std::vector<std::string> registered_feedbacks() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : entries()) names.push_back(name);
  return names;
}

}  // namespace dsf
