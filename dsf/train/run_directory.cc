#include "dsf/train/run_directory.h"

#include <fmt/format.h>

#include "dsf/base/error.h"

namespace dsf {

namespace fs = std::filesystem;

bool is_run_directory(const fs::path& root) {
  const RunPaths paths{root};
  return fs::is_regular_file(paths.config()) && fs::is_regular_file(paths.log());
}

void check_free_for_new_run(const fs::path& root, bool force) {
  if (root.empty()) throw UsageError("the name of the run directory is empty");
  if (!fs::exists(fs::symlink_status(root))) return;
  if (!fs::is_directory(root)) {
    throw UsageError(fmt::format("{} exists and is not a directory", root.string()));
  }
  if (is_run_directory(root)) {
    if (force) return;
    throw UsageError(fmt::format(
        "{} already holds a run; --resume continues it, --force replaces it", root.string()));
  }
  if (!fs::is_empty(root)) {
    throw UsageError(
        fmt::format("{} has other things in it and is no run directory; choose a new or empty one",
                    root.string()));
  }
}

void check_is_run(const fs::path& root) {
  if (is_run_directory(root)) return;
  throw UsageError(fmt::format(
      "{} is no run directory (config.toml and log.jsonl are not both there)", root.string()));
}

void make_run_directory(const RunPaths& paths) {
  if (is_run_directory(paths.root)) {
    for (const fs::path& path : {paths.checkpoints(), paths.metrics(), paths.tensorboard(),
                                 paths.tokenizer(), paths.log(), paths.config()}) {
      fs::remove_all(path);
    }
  }
  fs::create_directories(paths.root);
}

}  // namespace dsf
