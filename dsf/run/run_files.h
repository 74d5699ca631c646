#pragma once

// Which files of a directory are a run's own.

#include "dsf/run/run_directory.h"

namespace dsf {

/// True if what lies in `root` was written by this program: its config.toml has our keys and no
/// others, and its log.jsonl is empty or begins as our logs do. Other programs have files of these
/// names too.
bool is_our_run(const std::filesystem::path& root);

/// True for the names that a run gives to what lies in checkpoints/: step-00001234, with .tmp,
/// .old.tmp or .damaged behind, last and best, last.tmp and best.tmp.
bool is_checkpoint_entry(const std::filesystem::path& path);

/// Removes what a run has written, except config.toml and log.jsonl. What others have put beside it
/// stays, and so do the directories that it lies in.
void remove_run_files(const RunPaths& paths);

}  // namespace dsf
