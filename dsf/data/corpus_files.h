#pragma once

// Which files make up a corpus. What a name may be: dsf/data/dataset.h.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "dsf/data/data_config.h"

namespace dsf {

/// The files of each split.
struct CorpusFiles {
  std::vector<std::filesystem::path> train;
  std::vector<std::filesystem::path> valid;  ///< none: cut off the end of train
  std::vector<std::filesystem::path> test;   ///< none: cut off the end of train, or there is none
};

/// True for the name of a language made up on the spot: there are no files.
bool is_made_up(std::string_view corpus);

/// True if the text comes as files, whose ends are cut off for the splits that have none.
bool is_cut(const DataConfig& config);

/// Throws ConfigError for keys that contradict each other, DataError for a directory without a
/// corpus. Files that are named one by one need not exist.
CorpusFiles find_corpus_files(const DataConfig& config);

/// Says that a corpus is the same as before, and how large it is.
struct CorpusIdentity {
  std::uint64_t hash = 0;   ///< of all files and of how they are cut into splits
  std::uint64_t bytes = 0;  ///< of all files
  bool operator==(const CorpusIdentity&) const = default;
};

/// Reads all files piece by piece, and holds none of them. Nothing for a made-up language, and
/// if a file is not there or can be read only once (a pipe).
std::optional<CorpusIdentity> identify_corpus(const DataConfig& config);

}  // namespace dsf
