#pragma once

// A run on disk:
//
//   RUN/ config.toml · log.jsonl · metrics.csv · tokenizer · checkpoints/{last,best}/
//        tensorboard/ (if it is wanted)

#include <filesystem>
#include <optional>

#include "dsf/base/directory_lock.h"

namespace dsf {

/// The names in a run directory.
struct RunPaths {
  std::filesystem::path root;

  std::filesystem::path config() const { return root / "config.toml"; }
  std::filesystem::path log() const { return root / "log.jsonl"; }
  std::filesystem::path metrics() const { return root / "metrics.csv"; }
  std::filesystem::path tokenizer() const { return root / "tokenizer"; }
  std::filesystem::path tensorboard() const { return root / "tensorboard"; }
  std::filesystem::path checkpoints() const { return root / "checkpoints"; }
};

/// True if `root` has the marks of a run of this program: config.toml and log.jsonl.
bool is_run_directory(const std::filesystem::path& root);

/// Throws UsageError where a new run may not be put: a file, a directory with something in it, a
/// run without `force`. What a process left that died while it started a run is nothing. Changes
/// nothing.
void check_free_for_new_run(const std::filesystem::path& root, bool force);

/// Throws UsageError if `root` is not a run directory.
void check_is_run(const std::filesystem::path& root);

/// Makes the directory and an empty log in it; if a run is already there, removes that run's own
/// files and no others. With config.toml, which the caller writes, it is a run that --resume takes;
/// a process that dies at any moment before leaves something that can be started again.
///
/// `lock` holds the directory from here on, if it does not yet. It is taken before anything is
/// removed, and the directory is looked at once more: another process may have started a run there
/// since check_free_for_new_run.
void make_run_directory(const RunPaths& paths, bool force, std::optional<DirectoryLock>& lock);

}  // namespace dsf
