// bpe_model: how a BpeTokenizer's pieces are learnt.

#include <fmt/format.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/run_apart.h"
#include "dsf/base/utf8.h"
#include "dsf/data/bpe_tokenizer.h"

namespace dsf {
namespace {

constexpr dim_t kSpecials = 2 + 256;  // <unk>, <bos> and the bytes
constexpr dim_t kLargestVocab = 1'000'000;

void check_limits(const TokenizerConfig& config) {
  if (config.min_count != 1) {
    throw ConfigError(fmt::format(
        "data.min_count = {}, but the bpe tokenizer has no unknown tokens; leave it at 1",
        config.min_count));
  }
  if (config.vocab != 0 && (config.vocab <= kSpecials || config.vocab > kLargestVocab)) {
    throw ConfigError(fmt::format(
        "data.vocab = {}, but the bpe tokenizer needs more than {} pieces (<unk>, <bos> and 256 "
        "bytes) and takes at most {}; 0 means {}",
        config.vocab, kSpecials, kLargestVocab, BpeTokenizer::kDefaultVocab));
  }
}

// SentencePiece counts the characters of a word in 16 bits and crashes on longer ones. No piece is
// longer than 16 characters, so that a cut costs next to nothing.
constexpr std::size_t kLongestRun = 4096;  // characters

/// Bytes of `text`, which is not longer than one run, up to where it is cut: before the last word
/// that begins in its first kLongestRun characters, which changes no word, or else behind them.
std::size_t cut_length(std::string_view text) {
  std::size_t word_begin = 0;
  std::size_t at = 0;
  for (std::size_t characters = 0; at < text.size(); ++characters) {
    if (characters == kLongestRun) return word_begin > 0 ? word_begin : at;
    if (text[at] == ' ' && at > 0 && text[at - 1] != ' ') word_begin = at;
    at += decode_utf8(text, at).length;
  }
  return at;
}

/// Runs of plain text, as BpeTokenizer::encode will cut it, and cut at tabs, which SentencePiece
/// keeps for itself in training: a line with one would be left out. Long runs are cut.
class PlainRuns final : public sentencepiece::SentenceIterator {
 public:
  // Its own type in SentencePiece 0.1, Abseil's in 0.2.
  using Status = decltype(std::declval<const sentencepiece::SentenceIterator&>().status());

  explicit PlainRuns(std::string_view text) : text_(text), tab_(text.find('\t')) {
    PlainRuns::Next();
  }

  bool done() const override { return run_.empty(); }
  void Next() override {
    run_.clear();
    while (plain_.empty() && at_ < text_.size()) {
      if (tab_ < at_) tab_ = text_.find('\t', at_);
      const std::string_view before_tab = text_.substr(0, tab_);
      plain_ = before_tab.substr(at_, plain_length(before_tab, at_, Spaces::plain));
      at_ += std::max<std::size_t>(1, plain_.size());
    }
    run_ = plain_.substr(0, cut_length(plain_));
    plain_.remove_prefix(run_.size());
  }
  const std::string& value() const override { return run_; }
  Status status() const override { return {}; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t tab_;         // the next one at or behind at_
  std::string_view plain_;  // what is left of the run that was found last
  std::string run_;
};

// The flags that make encoding lossless: text is taken as it is (identity), no space is put before
// it or taken away, and every character can be written in bytes.
std::unordered_map<std::string, std::string> trainer_flags(dim_t vocab) {
  return {{"model_type", "bpe"},
          {"vocab_size", fmt::format("{}", vocab)},
          {"hard_vocab_limit", "false"},
          {"byte_fallback", "true"},
          {"normalization_rule_name", "identity"},
          {"add_dummy_prefix", "false"},
          {"remove_extra_whitespaces", "false"},
          {"allow_whitespace_only_pieces", "true"},
          {"max_sentence_length", "1073741824"},
          {"unk_id", "0"},
          {"bos_id", "1"},
          {"eos_id", "-1"},
          {"pad_id", "-1"},
          {"unk_piece", "<unk>"},
          {"bos_piece", "<bos>"},
          {"minloglevel", "3"}};
}

}  // namespace

std::string learn_bpe(const TokenizerConfig& config, std::string_view text) {
  check_limits(config);
  PlainRuns runs(text);
  if (runs.done()) throw DataError("training text: nothing to learn sub-word pieces from");
  const dim_t wanted = config.vocab > 0 ? config.vocab : BpeTokenizer::kDefaultVocab;
  std::string model;
  const auto status =
      sentencepiece::SentencePieceTrainer::Train(trainer_flags(wanted), &runs, &model);
  if (!status.ok()) {
    throw DataError(
        fmt::format("training text: no {} sub-word pieces can be learnt from it (SentencePiece: "
                    "{}); another data.vocab may fit",
                    wanted, status.ToString()));
  }
  return model;
}

std::string bpe_model(const TokenizerConfig& config, std::string_view text) {
  check_limits(config);
  std::string model =
      run_apart("training the bpe tokenizer", [&] { return learn_bpe(config, text); });
  const dim_t found = BpeTokenizer(model).vocab_size();
  if (config.vocab > 0 && found < config.vocab) {
    throw DataError(fmt::format(
        "data.vocab = {}, but the training text has only {} sub-word pieces; use 0 to take all",
        config.vocab, found));
  }
  return model;
}

}  // namespace dsf
