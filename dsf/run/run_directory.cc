#include "dsf/run/run_directory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dsf/base/error.h"
#include "dsf/base/fault.h"
#include "dsf/base/file.h"
#include "dsf/run/run_files.h"

namespace dsf {

namespace fs = std::filesystem;

namespace {

// The traces of a process that died before config.toml was there: an empty log, files not renamed
// yet, and, if it was importing a model, what belongs to a run beside an empty log.
bool is_unfinished_start(const fs::path& root) {
  const RunPaths paths{root};
  std::error_code ignored;
  const bool empty_log = fs::is_regular_file(paths.log(), ignored) &&
                         fs::is_empty(paths.log(), ignored) && !fs::exists(paths.config(), ignored);
  return std::all_of(
      fs::directory_iterator(root), fs::directory_iterator(), [&](const auto& entry) {
        const fs::path name = entry.path().filename();
        if (name == "log.jsonl.tmp" || name == "config.toml.tmp" || name == "metrics.csv.tmp") {
          return entry.is_regular_file();
        }
        return empty_log && (name == "log.jsonl" || name == "metrics.csv" || name == "tokenizer" ||
                             name == "tokenizer.tmp" || name == "checkpoints");
      });
}

// The nearest directory above `path` that is there, or the file that is in its place.
fs::path nearest_above(fs::path path) {
  std::error_code ignored;
  do path = path.parent_path();
  while (path.has_relative_path() && !fs::exists(path, ignored));
  return path;
}

// "; runs in it: a, b" for a person who named the directory above.
std::string runs_below(const fs::path& root) {
  std::error_code ignored;
  constexpr std::size_t kMost = 5;
  std::vector<std::string> names;
  for (auto at = fs::directory_iterator(root, ignored); !ignored && at != end(at);
       at.increment(ignored)) {
    if (is_run_directory(at->path())) names.push_back(at->path());
  }
  if (names.empty()) return "";
  std::sort(names.begin(), names.end());
  const bool more = names.size() > kMost;
  names.resize(std::min(names.size(), kMost));
  return fmt::format("; runs in it: {}{}", fmt::join(names, ", "), more ? ", ..." : "");
}

}  // namespace

bool is_run_directory(const fs::path& root) {
  const RunPaths paths{root};
  std::error_code ignored;  // what may not be looked into does not count
  return fs::is_regular_file(paths.config(), ignored) && fs::is_regular_file(paths.log(), ignored);
}

void check_free_for_new_run(const fs::path& root, bool force) {
  if (root.empty()) throw UsageError("the name of the run directory is empty");
  if (!fs::exists(fs::symlink_status(root))) {
    const fs::path above = nearest_above(fs::absolute(root));
    if (fs::is_directory(above)) return;
    throw UsageError(
        fmt::format("{} cannot be made: {} is not a directory", root.string(), above.string()));
  }
  if (!fs::is_directory(root)) {
    throw UsageError(fmt::format("{} exists and is not a directory", root.string()));
  }
  if (is_run_directory(root)) {
    if (force && is_our_run(root)) return;
    if (force) {
      throw UsageError(fmt::format(
          "{} has a config.toml and a log.jsonl, but not those of a run of dsf: --force does not "
          "replace it; choose a new or empty directory",
          root.string()));
    }
    throw UsageError(fmt::format(
        "{} already holds a run; --resume continues it, --force replaces it", root.string()));
  }
  if (!is_unfinished_start(root)) {
    throw UsageError(fmt::format(
        "{} has other things in it and is not a run directory; choose a new or empty one",
        root.string()));
  }
}

void check_is_run(const fs::path& root) {
  if (is_run_directory(root)) return;
  // A run whose log was deleted can still be evaluated.
  std::error_code ignored;
  const RunPaths paths{root};
  if (fs::is_regular_file(paths.config(), ignored) &&
      fs::is_directory(paths.checkpoints(), ignored))
    return;
  std::error_code failed;
  if (!fs::exists(root, failed)) {
    throw UsageError(failed ? fmt::format("{} is not a run directory that can be read: {}",
                                          root.string(), failed.message())
                            : fmt::format("{}: there is no such run directory", root.string()));
  }
  throw UsageError(
      fmt::format("{} is not a run directory (config.toml and log.jsonl are not both there){}",
                  root.string(), runs_below(root)));
}

void make_run_directory(const RunPaths& paths, bool force, std::optional<DirectoryLock>& lock) {
  fs::create_directories(paths.root);
  crash_point("run.made_directory");
  if (!lock) {
    lock.emplace(paths.root);
    check_free_for_new_run(paths.root, force);
  }
  // An older run is one until its log is empty, and from then on a new one.
  remove_run_files(paths);
  replace_file(paths.log(), "");
  crash_point("run.made_log");
}

}  // namespace dsf
