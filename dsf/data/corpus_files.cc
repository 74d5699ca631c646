#include "dsf/data/corpus_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>

#include "dsf/base/error.h"
#include "dsf/base/hash.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

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

CorpusFiles files_of_directory(const DataConfig& config) {
  const fs::path directory = config.corpus;
  if (!config.valid.empty() || !config.test.empty()) {
    throw ConfigError(fmt::format(
        "data.valid and data.test go with a corpus of files, but data.corpus = '{}' is a directory "
        "that has its own; leave them out",
        config.corpus));
  }
  for (const Naming& naming : kNamings) {
    const std::optional<fs::path> train = find_split(directory, naming, "train");
    if (!train) continue;
    const std::optional<fs::path> valid = find_split(directory, naming, "valid");
    if (!valid) {
      throw DataError(fmt::format("{}: has {}, but no {} beside it", directory.string(),
                                  train->filename().string(), file_name(naming, "valid")));
    }
    const std::optional<fs::path> test = find_split(directory, naming, "test");
    return {{*train}, {*valid}, test ? std::vector{*test} : std::vector<fs::path>()};
  }
  throw DataError(fmt::format("{}: no corpus in this directory; looked for {} (or with .gz behind)",
                              directory.string(), known_namings()));
}

// "": none. A name with commas may also be that of one file.
std::vector<fs::path> files_of_list(const std::string& list, std::string_view key) {
  std::error_code ignored;
  if (list.empty()) return {};
  if (fs::is_regular_file(list, ignored)) return {list};
  std::vector<fs::path> files;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) {
      throw ConfigError(fmt::format("{} = '{}' has an empty file name in its list", key, list));
    }
    files.emplace_back(name);
  }
  return files;
}

// --- the same corpus as before? ------------------------------------------------------------------

void add(std::string_view text, Hasher& hasher) {
  const std::uint64_t size = text.size();
  hasher.update(&size, sizeof size);
  hasher.update(text.data(), text.size());
}

// Bytes read, or nothing if they cannot be read (again).
std::optional<std::uint64_t> add_file(const fs::path& file, Hasher& hasher) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;  // a pipe is read once only
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  add(file.extension() == ".gz" ? "compressed" : "plain", hasher);
  std::vector<char> piece(std::size_t{1} << 20U);
  std::uint64_t bytes = 0;
  while (in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    hasher.update(piece.data(), static_cast<std::size_t>(in.gcount()));
    bytes += static_cast<std::uint64_t>(in.gcount());
  }
  if (in.bad()) return std::nullopt;
  hasher.update(&bytes, sizeof bytes);
  return bytes;
}

}  // namespace

bool is_made_up(std::string_view corpus) { return corpus.starts_with("synthetic:"); }

bool is_cut(const DataConfig& config) {
  std::error_code ignored;
  return !fs::is_directory(config.corpus, ignored);
}

CorpusFiles find_corpus_files(const DataConfig& config) {
  if (config.corpus.empty()) {
    throw ConfigError("data.corpus is not set; name a directory, text files or synthetic:recall");
  }
  if (!is_cut(config)) return files_of_directory(config);
  return {files_of_list(config.corpus, "data.corpus"), files_of_list(config.valid, "data.valid"),
          files_of_list(config.test, "data.test")};
}

std::optional<CorpusIdentity> identify_corpus(const DataConfig& config) {
  if (is_made_up(config.corpus)) return std::nullopt;
  const CorpusFiles files = find_corpus_files(config);
  Hasher hasher;
  add(is_cut(config) ? fmt::format("{} {}", config.valid_fraction, config.test_fraction)
                     : "as given",
      hasher);
  CorpusIdentity identity;
  for (const auto* split : {&files.train, &files.valid, &files.test}) {
    add(fmt::format("{} files", split->size()), hasher);
    for (const fs::path& file : *split) {
      const std::optional<std::uint64_t> bytes = add_file(file, hasher);
      if (!bytes) return std::nullopt;
      identity.bytes += *bytes;
    }
  }
  identity.hash = hasher.digest();
  return identity;
}

}  // namespace dsf
