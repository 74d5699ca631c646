#pragma once

// The directory that a run's checkpoints lie in:
//
//   step-00001234/       a whole checkpoint
//   step-00001240.tmp/   one that is being written, or whose writer died
//   step-00001230.damaged/  one that could not be read when the run went on from an older one
//   last, best           links to two of them
//
// Links change by rename, so each names a whole checkpoint at any moment.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "dsf/base/dim.h"

namespace dsf {

/// The name of a checkpoint that has `step` updates behind it.
std::string checkpoint_name(dim_t step);
/// Where it is written before it is whole.
std::filesystem::path unfinished_checkpoint(const std::filesystem::path& checkpoints, dim_t step);

/// Puts what was written to unfinished_checkpoint in its place; a checkpoint of the same step makes
/// way.
void publish_checkpoint(const std::filesystem::path& checkpoints, dim_t step);

/// Points `link` to the checkpoint of `step`, in one instant.
void link_checkpoint(const std::filesystem::path& checkpoints, dim_t step, const std::string& link);

/// Removes what is unfinished and, of the whole ones, all but the newest `keep` and those that a
/// link names.
void prune_checkpoints(const std::filesystem::path& checkpoints, dim_t keep);

/// Renames the checkpoints behind `step`, which could not be read, so that they count no more.
void set_aside_after(const std::filesystem::path& checkpoints, dim_t step);

/// The names of all whole-looking checkpoints, newest first; unfinished ones are not listed.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& checkpoints);

/// The directory behind "last" or "best"; before a run's first evaluation none is the best yet, and
/// the last takes its place. Throws CheckpointError if there is none.
std::filesystem::path find_checkpoint(const std::filesystem::path& checkpoints,
                                      const std::string& link);

}  // namespace dsf
