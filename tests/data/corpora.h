#pragma once

// Real corpora, if there are some: directories such as wikitext-2 in DSF_DATA_DIR.

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace dsf {

inline std::optional<std::string> find_corpus(const std::string& name) {
  const char* root = std::getenv("DSF_DATA_DIR");
  if (root == nullptr) return std::nullopt;
  const std::filesystem::path directory = std::filesystem::path(root) / name;
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored)) return std::nullopt;
  return directory.string();
}

}  // namespace dsf
