#pragma once

#include <optional>

#include "dsf/base/choice.h"
#include "dsf/base/dim.h"
#include "dsf/cells/cell_kind.h"

namespace dsf {

/// What looks along time in a block: a recurrent cell, causal attention, or MEGA's EMA.
enum class MixerKind { rnn, gru, lstm, attention, ema };
template <>
struct ChoiceNames<MixerKind> {
  static constexpr auto kNames =
      std::to_array<std::string_view>({"rnn", "gru", "lstm", "attention", "ema"});
};

/// The cell of a recurrent mixer; attention and ema have none.
constexpr std::optional<CellKind> cell_of(MixerKind mixer) {
  return choice_named<CellKind>(name_of(mixer));
}

/// What stands around a mixer.
///   plain        x + Mixer(x)
///   transformer  layers/transformer_block.h
enum class BlockKind { plain, transformer };
template <>
struct ChoiceNames<BlockKind> {
  static constexpr std::array<std::string_view, 2> kNames = {"plain", "transformer"};
};

/// The shape of a language model; the vocabulary comes from the tokenizer.
struct ModelConfig {
  MixerKind mixer = MixerKind::gru;
  dim_t hidden = 256;  ///< D
  dim_t layers = 1;    ///< blocks
  BlockKind block = BlockKind::plain;
  bool skip = true;                  ///< the skip connections of the blocks
  GruReset reset = GruReset::after;  ///< gru: reset gate after or before the recurrent product
  dim_t context = 64;                ///< longest sequence that attention's learned positions cover
  bool recompute = false;  ///< recurrent layers keep their states alone: see RecurrentLayer
};

}  // namespace dsf
