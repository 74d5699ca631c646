#pragma once

// From files to splits of token ids.
//
// `corpus` names
//   a Penn Treebank directory      ptb.{train,valid,test}.txt
//   a WikiText directory           wiki.{train,valid,test}.{tokens,raw}
//   any other directory with       {train,valid,test}.txt
//   any UTF-8 text file, or a comma-separated list of files, read one after the other
//   synthetic:recall[:gap=32,...]  a language made up on the spot (dsf/data/synthetic_recall.h)
// .gz files are read through. In a directory the test file may be missing. Single files are split
// by `valid` / `test` files, or by fractions: the end of the text is test, what lies before it
// valid, cut at line ends.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dsf/base/shared_array.h"
#include "dsf/data/data_config.h"
#include "dsf/data/tokenizer.h"

namespace dsf {

/// One split: its whole text, line after line. The rule, for every tokenizer:
///
///   A line is the tokens of its text and then eos(), which stands for its line end.
///
/// For char and byte, where eos() is the newline itself, this is the plain text. A blank line is
/// eos() alone, kept here because running text (blocks, stream) has it, as is usual for WikiText;
/// sentences leave it out. A last line without line end is closed like the others.
struct Split {
  SharedArray<token_t> tokens;
  SharedArray<dim_t> line_starts;  ///< where each line starts, and behind them tokens.size()
  dim_t characters = 0;            ///< Unicode code points of the text, line ends included
  dim_t bytes = 0;                 ///< line ends included
  dim_t unknown = 0;               ///< tokens that are <unk> for something else
  dim_t unknown_bytes = 0;         ///< of the text behind them (dsf/data/unknown_text.h)

  dim_t lines() const {
    return line_starts.empty() ? 0 : static_cast<dim_t>(line_starts.size()) - 1;
  }
  dim_t line_start(dim_t line) const { return line_starts[static_cast<std::size_t>(line)]; }
  /// Tokens of a line, its eos() included: 1 for a blank one.
  dim_t line_length(dim_t line) const { return line_start(line + 1) - line_start(line); }
};

/// Tokenizes `text` line by line.
Split make_split(const Tokenizer& tokenizer, std::string_view text);

/// A corpus in tokens, and the tokenizer that made them.
struct Dataset {
  std::unique_ptr<Tokenizer> tokenizer;
  Split train;
  Split valid;
  Split test;  ///< may be empty

  /// train | valid | test; throws UsageError for another name or an empty split.
  const Split& split(const std::string& name) const;
};

/// Reads, splits, tokenizes. `tokenizer_file`: use this stored tokenizer instead of building one
/// (evaluation, resume). Throws ConfigError or DataError naming the file or key and what would be
/// right. Nothing but blank lines in train or valid is an error. Sub-word pieces and tokens of
/// large texts are kept on disk; the next time they are mapped into memory from there, and the text
/// is only read through once to see that it is the same (dsf/data/token_cache.h).
Dataset load_dataset(const DataConfig& config, std::uint64_t seed,
                     const std::optional<std::filesystem::path>& tokenizer_file = std::nullopt);

/// A checksum of all tokens: tells whether two names mean the same text.
std::uint64_t data_hash(const Dataset& data);

}  // namespace dsf
