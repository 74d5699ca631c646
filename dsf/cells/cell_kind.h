#pragma once

// The names of the cells, apart from the cells themselves: configurations need no more.

#include "dsf/base/choice.h"

namespace dsf {

enum class CellKind { rnn, gru, lstm };
template <>
struct ChoiceNames<CellKind> {
  static constexpr auto kNames = std::to_array<std::string_view>({"rnn", "gru", "lstm"});
};

/// Where the GRU applies its reset gate: to the product U h (PyTorch) or to h before it (the
/// paper).
enum class GruReset { after, before };
template <>
struct ChoiceNames<GruReset> {
  static constexpr std::array<std::string_view, 2> kNames = {"after", "before"};
};

}  // namespace dsf
