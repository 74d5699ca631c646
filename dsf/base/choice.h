#pragma once

// Enums that a configuration names: each has its names once, beside it, and is parsed once.
//
//   enum class Optimizer { adam, adamw };
//   template <>
//   struct ChoiceNames<Optimizer> {
//     static constexpr auto kNames = std::to_array<std::string_view>({"adam", "adamw"});
//   };
//
// The names stand in the order of the values, which count from 0.

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dsf {

template <typename Enum>
struct ChoiceNames;

template <typename Enum>
concept Choice = requires {
  ChoiceNames<Enum>::kNames;
};

template <Choice Enum>
constexpr std::string_view name_of(Enum value) {
  return ChoiceNames<Enum>::kNames[static_cast<std::size_t>(value)];
}

/// The value of this name, or nothing.
template <Choice Enum>
constexpr std::optional<Enum> choice_named(std::string_view name) {
  constexpr const auto& kNames = ChoiceNames<Enum>::kNames;
  const auto* found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Enum>(found - kNames.begin());
}

template <Choice Enum>
std::vector<std::string> choice_names() {
  return {ChoiceNames<Enum>::kNames.begin(), ChoiceNames<Enum>::kNames.end()};
}

/// For messages: "rnn, gru and lstm".
std::string in_words(const std::vector<std::string>& names);

/// Throws ConfigError: `key` = `name` is unknown, and the names that are known.
[[noreturn]] void refuse_choice(std::string_view key, std::string_view name,
                                const std::vector<std::string>& known);

/// The value of this name. Throws ConfigError.
template <Choice Enum>
Enum parse_choice(std::string_view key, std::string_view name) {
  if (const std::optional<Enum> chosen = choice_named<Enum>(name)) return *chosen;
  refuse_choice(key, name, choice_names<Enum>());
}

}  // namespace dsf
