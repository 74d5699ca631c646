#include "dsf/data/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/data/synthetic_recall.h"
#include "dsf/data/text_file.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSynthetic = "synthetic:";

// A directory's files are named prefix + split + suffix, perhaps with .gz behind.
struct Naming {
  std::string_view prefix;
  std::string_view suffix;
};
constexpr std::array<Naming, 4> kNamings = {
    {{"ptb.", ".txt"}, {"wiki.", ".tokens"}, {"wiki.", ".raw"}, {"", ".txt"}}};

std::string file_name(const Naming& naming, std::string_view split) {
  return fmt::format("{}{}{}", naming.prefix, split, naming.suffix);
}

std::optional<fs::path> find_split(const fs::path& directory, const Naming& naming,
                                   std::string_view split) {
  const std::string name = file_name(naming, split);
  for (const fs::path& file : {directory / name, directory / (name + ".gz")}) {
    std::error_code ignored;
    if (fs::exists(file, ignored)) return file;
  }
  return std::nullopt;
}

std::string known_namings() {
  std::string names;
  for (const Naming& naming : kNamings) {
    names += (names.empty() ? "" : ", ") + file_name(naming, "{train,valid,test}");
  }
  return names;
}

std::string read_closed(const fs::path& file, bool any_bytes) {
  std::string text = any_bytes ? read_corpus_file(file) : read_text_file(file);
  if (!text.ends_with('\n')) text.push_back('\n');
  return text;
}

CorpusText read_directory(const DataConfig& config, const fs::path& directory) {
  if (!config.valid.empty() || !config.test.empty()) {
    throw ConfigError(fmt::format(
        "data.valid and data.test go with a corpus of files, but data.corpus = '{}' is a directory "
        "that has its own; leave them out",
        config.corpus));
  }
  const bool any_bytes = config.tokenizer == "byte";
  for (const Naming& naming : kNamings) {
    const std::optional<fs::path> train = find_split(directory, naming, "train");
    if (!train) continue;
    const std::optional<fs::path> valid = find_split(directory, naming, "valid");
    if (!valid) {
      throw DataError(fmt::format("{}: has {}, but no {} beside it", directory.string(),
                                  train->filename().string(), file_name(naming, "valid")));
    }
    const std::optional<fs::path> test = find_split(directory, naming, "test");
    return {read_closed(*train, any_bytes), read_closed(*valid, any_bytes),
            test ? read_closed(*test, any_bytes) : std::string()};
  }
  throw DataError(fmt::format("{}: no corpus in this directory; looked for {} (or with .gz behind)",
                              directory.string(), known_namings()));
}

std::string read_list(const std::string& list, std::string_view key, bool any_bytes) {
  std::error_code ignored;
  if (fs::is_regular_file(list, ignored)) return read_closed(list, any_bytes);
  std::string text;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) {
      throw ConfigError(fmt::format("{} = '{}' has an empty file name in its list", key, list));
    }
    text += read_closed(name, any_bytes);
  }
  return text;
}

// --- cutting one text into splits ----------------------------------------------------------------

void check_fraction(double fraction, std::string_view key) {
  if (!(fraction >= 0.0 && fraction < 1.0)) {
    throw ConfigError(
        fmt::format("{} = {}, but it must be at least 0 and less than 1", key, fraction));
  }
}

// Cuts `fraction` of `whole` bytes, at least one line and never the first, off the end of `text`.
std::string cut_tail(double fraction, std::size_t whole, std::string_view what, std::string& text) {
  const auto wanted = static_cast<std::size_t>(fraction * static_cast<double>(whole));
  const std::size_t target = text.size() - std::min(wanted, text.size());
  // The first line that starts at or behind `target`, else the last line of all.
  std::size_t line_end = text.find('\n', target == 0 ? 0 : target - 1);
  if (line_end + 1 >= text.size()) {
    line_end = text.size() < 2 ? std::string::npos : text.rfind('\n', text.size() - 2);
  }
  if (line_end >= text.size()) {
    throw DataError(fmt::format(
        "data.corpus: nothing is left for {}: the text has too few lines to be cut at line ends; "
        "give a file in data.{} instead",
        what, what));
  }
  std::string tail = text.substr(line_end + 1);
  text.resize(line_end + 1);
  return tail;
}

CorpusText read_files(const DataConfig& config) {
  check_fraction(config.valid_fraction, "data.valid_fraction");
  check_fraction(config.test_fraction, "data.test_fraction");
  const bool cut_valid = config.valid.empty();
  const bool cut_test = config.test.empty() && config.test_fraction > 0.0;
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
  const bool any_bytes = config.tokenizer == "byte";
  CorpusText text;
  text.train = read_list(config.corpus, "data.corpus", any_bytes);
  const std::size_t whole = text.train.size();
  if (cut_test) text.test = cut_tail(config.test_fraction, whole, "test", text.train);
  if (cut_valid) text.valid = cut_tail(config.valid_fraction, whole, "valid", text.train);
  if (!cut_valid) text.valid = read_list(config.valid, "data.valid", any_bytes);
  if (!config.test.empty()) text.test = read_list(config.test, "data.test", any_bytes);
  return text;
}

CorpusText make_up(const std::string& corpus, std::uint64_t seed) {
  const std::string_view rest = std::string_view(corpus).substr(kSynthetic.size());
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
  if (config.corpus.empty()) {
    throw ConfigError("data.corpus is not set; name a directory, text files or synthetic:recall");
  }
  if (config.corpus.starts_with(kSynthetic)) return make_up(config.corpus, seed);
  std::error_code ignored;
  if (fs::is_directory(config.corpus, ignored)) return read_directory(config, config.corpus);
  return read_files(config);
}

}  // namespace dsf
