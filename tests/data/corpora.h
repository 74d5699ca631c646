#pragma once

// Real corpora, where there are some: in DSF_DATA_DIR, or beside the source tree.

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dsf {

inline std::optional<std::string> find_corpus(const std::string& name) {
  std::vector<std::filesystem::path> roots;
  if (const char* given = std::getenv("DSF_DATA_DIR")) roots.emplace_back(given);
  roots.push_back(std::filesystem::path(DSF_SOURCE_DIR) / "../shared/data");
  for (const std::filesystem::path& root : roots) {
    std::error_code ignored;
    if (std::filesystem::is_directory(root / name, ignored)) return (root / name).string();
  }
  return std::nullopt;
}

}  // namespace dsf
