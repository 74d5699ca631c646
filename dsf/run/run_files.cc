#include "dsf/run/run_files.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "dsf/base/error.h"
#include "dsf/run/config_file.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool has_our_keys(const fs::path& config) {
  try {
    read_config_file(config);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool begins_as_our_log(const fs::path& log) {
  std::ifstream in(log, std::ios::binary);
  std::string line;
  if (!std::getline(in, line)) return in.eof();
  const json parsed = json::parse(line, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("event") || !parsed["event"].is_string()) {
    return false;
  }
  const auto event = parsed["event"].get<std::string>();
  return event == "start" || event == "resume" || event == "imported";
}

/// Removes the entries of `directory` that `is_ours` names, and the directory if nothing is left.
template <typename Predicate>
void remove_entries(const fs::path& directory, Predicate&& is_ours) {
  std::error_code none;
  if (fs::is_symlink(directory) || !fs::is_directory(directory, none)) return;
  std::vector<fs::path> ours;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (is_ours(entry.path())) ours.push_back(entry.path());
  }
  for (const fs::path& path : ours) fs::remove_all(path);
  if (fs::is_empty(directory)) fs::remove(directory);
}

}  // namespace

bool is_our_run(const fs::path& root) {
  const RunPaths paths{root};
  return is_run_directory(root) && begins_as_our_log(paths.log()) && has_our_keys(paths.config());
}

bool is_checkpoint_entry(const fs::path& path) {
  std::string name = path.filename().string();
  for (const std::string_view suffix : {".tmp", ".old", ".damaged"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  if (name == "last" || name == "best") return true;
  constexpr std::string_view kPrefix = "step-";
  constexpr std::size_t kDigits = 8;
  if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + kDigits) return false;
  return std::all_of(name.begin() + kPrefix.size(), name.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

void remove_run_files(const RunPaths& paths) {
  remove_entries(paths.checkpoints(), is_checkpoint_entry);
  remove_entries(paths.tensorboard(), [](const fs::path& path) {
    return path.filename().string().starts_with("events.out.tfevents.");
  });
  for (const fs::path& path : {paths.metrics(), paths.tokenizer()}) {
    if (!fs::is_directory(path)) fs::remove(path);
  }
}

}  // namespace dsf
