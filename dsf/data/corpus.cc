#include "dsf/data/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "dsf/base/error.h"
#include "dsf/data/corpus_files.h"
#include "dsf/data/synthetic_recall.h"
#include "dsf/data/text_cut.h"
#include "dsf/data/text_file.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

std::string read_closed(const fs::path& file, bool any_bytes) {
  std::string text = any_bytes ? read_corpus_file(file) : read_text_file(file);
  if (!text.ends_with('\n')) text.push_back('\n');
  return text;
}

std::string read_closed(const std::vector<fs::path>& files, bool any_bytes) {
  std::string text = read_closed(files.front(), any_bytes);
  for (std::size_t i = 1; i < files.size(); ++i) text += read_closed(files[i], any_bytes);
  return text;
}

// --- cutting one text into splits ----------------------------------------------------------------

void check_fraction(double fraction, std::string_view key) {
  if (!(fraction >= 0.0 && fraction < 1.0)) {
    throw ConfigError(
        fmt::format("{} = {}, but it must be at least 0 and less than 1", key, fraction));
  }
}

// If lines mean nothing to training, a text of one line (text8) is cut inside it.
bool cuts_inside_lines(const DataConfig& config) {
  return config.tokenizer == TokenizerKind::character || config.tokenizer == TokenizerKind::byte ||
         config.batching != Batching::sentences;
}

CutAt unit_of(const DataConfig& config) {
  if (config.tokenizer == TokenizerKind::byte) return CutAt::byte;
  return config.tokenizer == TokenizerKind::character ? CutAt::character : CutAt::word;
}

// Cuts `fraction` of `whole` bytes, at least one line and never the first, off the end of `text`.
std::string cut_tail(const DataConfig& config, double fraction, std::size_t whole,
                     std::string_view what, std::string& text) {
  const auto wanted = static_cast<std::size_t>(fraction * static_cast<double>(whole));
  const std::size_t target = text.size() - std::min(wanted, text.size());
  // The first line that starts at or behind `target`, else the last line of all.
  std::size_t line_end = text.find('\n', target == 0 ? 0 : target - 1);
  if (line_end + 1 >= text.size()) {
    line_end = text.size() < 2 ? std::string::npos : text.rfind('\n', text.size() - 2);
  }
  if (line_end >= text.size()) {
    const std::size_t cut =
        cuts_inside_lines(config) ? cut_inside_line(text, wanted, unit_of(config)) : 0;
    if (cut == 0) {
      throw DataError(fmt::format(
          "{}: the text has too few lines to cut a {} text off at a line end; break it into lines, "
          "name a file of its own in data.{}, or cut inside lines: data.tokenizer = \"char\" or "
          "\"byte\", or data.batching = \"stream\" or \"blocks\"",
          config.corpus, what, what));
    }
    std::string tail = text.substr(cut);
    text.resize(cut);
    return tail;
  }
  std::string tail = text.substr(line_end + 1);
  text.resize(line_end + 1);
  return tail;
}

void check_cuts(const DataConfig& config) {
  check_fraction(config.valid_fraction, "data.valid_fraction");
  check_fraction(config.test_fraction, "data.test_fraction");
  const bool cut_valid = config.valid.empty();
  const bool cut_test = config.test.empty();
  if (cut_valid && config.valid_fraction == 0.0) {
    throw ConfigError(
        "nothing is left for valid: give a file in data.valid or data.valid_fraction > 0");
  }
  if (cut_valid && cut_test && config.valid_fraction + config.test_fraction >= 1.0) {
    throw ConfigError(
        fmt::format("data.valid_fraction = {} and data.test_fraction = {} leave nothing to train "
                    "on; together they must be less than 1",
                    config.valid_fraction, config.test_fraction));
  }
}

// What no files are given for is cut off the end of the training text.
void cut_splits(const DataConfig& config, CorpusText& text) {
  const std::size_t whole = text.train.size();
  if (text.test.empty() && config.test_fraction > 0.0) {
    text.test = cut_tail(config, config.test_fraction, whole, "test", text.train);
  }
  if (text.valid.empty()) {
    text.valid = cut_tail(config, config.valid_fraction, whole, "valid", text.train);
  }
}

CorpusText make_up(const std::string& corpus, std::uint64_t seed) {
  const std::string_view rest = std::string_view(corpus).substr(corpus.find(':') + 1);
  const std::size_t colon = std::min(rest.find(':'), rest.size());
  if (rest.substr(0, colon) != "recall") {
    throw ConfigError(fmt::format(
        "data.corpus = '{}' names no language that can be made up; known is synthetic:recall",
        corpus));
  }
  const std::string_view options = colon < rest.size() ? rest.substr(colon + 1) : "";
  return generate_recall(parse_recall(options), seed);
}

}  // namespace

CorpusText read_corpus(const DataConfig& config, std::uint64_t seed) {
  if (is_made_up(config.corpus)) {
    if (!config.valid.empty() || !config.test.empty()) {
      throw ConfigError(
          fmt::format("data.valid and data.test name files for a corpus that is a file; {} has "
                      "splits of its own",
                      config.corpus));
    }
    return make_up(config.corpus, seed);
  }
  const CorpusFiles files = find_corpus_files(config);
  const bool cut = is_cut(config);
  if (cut) check_cuts(config);
  const bool any_bytes = config.tokenizer == TokenizerKind::byte;
  CorpusText text;
  text.train = read_closed(files.train, any_bytes);
  if (!files.valid.empty()) text.valid = read_closed(files.valid, any_bytes);
  if (!files.test.empty()) text.test = read_closed(files.test, any_bytes);
  if (cut) cut_splits(config, text);
  return text;
}

}  // namespace dsf
