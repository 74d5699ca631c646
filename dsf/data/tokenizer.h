#pragma once

// Text <-> token ids. A tokenizer is built from training text or loaded from a run directory.
//
//   word   what stands between ASCII white space.
//          ids: <unk> 0, <bos> 1, <eos> 2, then by frequency.
//          These three words, where the text itself has them, are the special tokens.
//   char   Unicode code points.
//          ids: <unk> 0, <bos> 1, newline 2, then by frequency
//   byte   bytes; nothing is unknown.
//          ids: the byte's value, <bos> 256
//   bpe    sub-word pieces learnt from the text; nothing is unknown (dsf/data/bpe_tokenizer.h).
//          ids: <unk> 0 (never used), <bos> 1, the 256 bytes, then pieces in the order learnt
//
// eos() closes a line of text. Words have no token for the line end, so they need <eos>; for the
// others the newline itself is that token, and decode(encode(text)) == text: always for bytes and
// bpe, for characters where all are known.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dsf/base/token_batch.h"
#include "dsf/data/data_config.h"

namespace dsf {

struct StoredTokenizer;

/// Text to token ids and back. It does not change once it is built.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual TokenizerKind kind() const = 0;
  virtual dim_t vocab_size() const = 0;
  virtual token_t bos() const = 0;  ///< <bos>
  virtual token_t eos() const = 0;  ///< closes a line: <eos>; the newline, except for word
  virtual token_t unk() const = 0;  ///< <unk>; -1 where nothing can be unknown

  /// Appends the ids of `text` to `out`. Never adds <bos> or <eos> by itself. Takes any bytes:
  /// what is not known, malformed UTF-8 included, becomes unk().
  virtual void encode(std::string_view text, std::vector<token_t>& out) const = 0;
  /// word: joined by single spaces, <eos> as a line end. <bos> has no text; an unknown character is
  /// U+FFFD. Throws DataError for an id outside the vocabulary.
  virtual std::string decode(const std::vector<token_t>& ids) const = 0;

  /// Everything needed to have the same tokenizer again (dsf/data/tokenizer_file.h).
  virtual StoredTokenizer stored() const = 0;
  /// Writes it into `file` for load_tokenizer (one JSON file). Throws IoError.
  void save(const std::filesystem::path& file) const;
};

/// How build_tokenizer makes one.
struct TokenizerConfig {
  TokenizerKind kind = TokenizerKind::word;
  dim_t vocab = 0;      ///< specials included; 0 = no limit (bpe: 16,000, or what there is)
  dim_t min_count = 1;  ///< words or characters seen less often become <unk>
};

/// Builds from training text. Throws ConfigError for limits out of range, DataError if the text does not fit: not UTF-8,
/// or fewer tokens than `vocab` asks for.
std::unique_ptr<Tokenizer> build_tokenizer(const TokenizerConfig& config, std::string_view text);
/// Throws DataError where the file is missing, damaged, or not a tokenizer.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& file);
/// The same of a file's contents; `origin` is its name in messages.
std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view text, const std::string& origin);

}  // namespace dsf
