#include "dsf/run/checkpoint_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "dsf/base/error.h"
#include "dsf/base/fault.h"
#include "dsf/base/file.h"
#include "dsf/base/log.h"
#include "dsf/run/run_files.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".tmp";
constexpr std::string_view kDamaged = ".damaged";
constexpr std::string_view kStepPrefix = "step-";

fs::path with_suffix(const fs::path& path, std::string_view suffix) {
  return path.string() + std::string(suffix);
}

// Names of more than eight digits are longer; equally long ones sort as numbers.
bool is_newer(const fs::path& a, const fs::path& b) {
  const std::string x = a.filename();
  const std::string y = b.filename();
  return x.size() != y.size() ? x.size() > y.size() : x > y;
}

bool is_unfinished(const fs::path& path) { return path.extension() == kUnfinished; }

}  // namespace

std::string checkpoint_name(dim_t step) { return fmt::format("{}{:08d}", kStepPrefix, step); }

fs::path unfinished_checkpoint(const fs::path& checkpoints, dim_t step) {
  return with_suffix(checkpoints / checkpoint_name(step), kUnfinished);
}

void publish_checkpoint(const fs::path& checkpoints, dim_t step) {
  const fs::path place = checkpoints / checkpoint_name(step);
  const fs::path stale = with_suffix(with_suffix(place, ".old"), kUnfinished);
  crash_point("checkpoint.before_rename");
  const bool replaces = fs::exists(place);
  if (replaces) rename_file(place, stale);
  try {
    rename_file(unfinished_checkpoint(checkpoints, step), place);
  } catch (const IoError&) {
    std::error_code ignored;  // the first failure is the one to tell
    if (replaces) fs::rename(stale, place, ignored);
    throw;
  }
  crash_point("checkpoint.after_rename");
  sync_directory(checkpoints);
}

void link_checkpoint(const fs::path& checkpoints, dim_t step, const std::string& link) {
  const fs::path place = checkpoints / link;
  // A copy of a run made with links followed has a directory here. As it is not a link, no checkpoint
  // is lost with it that the store needs; prune_checkpoints removes it.
  if (fs::is_directory(fs::symlink_status(place))) {
    const fs::path aside = with_suffix(with_suffix(place, ".old"), kUnfinished);
    fs::remove_all(aside);
    rename_file(place, aside);
  }
  replace_symlink(checkpoint_name(step), place);
}

void prune_checkpoints(const fs::path& checkpoints, dim_t keep) {
  crash_point("checkpoint.before_prune");
  std::set<fs::path> kept;
  const std::vector<fs::path> whole = list_checkpoints(checkpoints);
  for (std::size_t i = 0; i < std::min(whole.size(), static_cast<std::size_t>(keep)); ++i) {
    kept.insert(whole[i].filename());
  }
  std::vector<fs::path> candidates;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints)) {
    if (is_unfinished(entry.path()) && is_checkpoint_entry(entry.path())) {
      candidates.push_back(entry.path());
    } else if (entry.is_symlink()) {
      kept.insert(fs::read_symlink(entry.path()).filename());
    }
  }
  candidates.insert(candidates.end(), whole.begin(), whole.end());
  for (const fs::path& candidate : candidates) {
    if (kept.contains(candidate.filename())) continue;
    // First out of the way in one instant, lest a half removed one look whole.
    fs::path leaving = candidate;
    if (!is_unfinished(candidate)) {
      leaving = with_suffix(candidate, kUnfinished);
      rename_file(candidate, leaving);
    }
    crash_point("checkpoint.while_pruning");
    fs::remove_all(leaving);
  }
}

void set_aside_after(const fs::path& checkpoints, dim_t step) {
  const fs::path newest = checkpoints / checkpoint_name(step);
  for (const fs::path& checkpoint : list_checkpoints(checkpoints)) {
    if (!is_newer(checkpoint, newest)) continue;
    const fs::path aside = with_suffix(checkpoint, kDamaged);
    fs::remove_all(aside);
    rename_file(checkpoint, aside);
    log_warning(fmt::format("{} is now called {} and counts no more; remove it when you like",
                            checkpoint.string(), aside.filename().string()));
  }
}

std::vector<fs::path> list_checkpoints(const fs::path& checkpoints) {
  std::vector<fs::path> found;
  if (!fs::is_directory(checkpoints)) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints)) {
    const fs::path name = entry.path().filename();
    if (name.string().starts_with(kStepPrefix) && !name.has_extension() && !entry.is_symlink() &&
        entry.is_directory()) {
      found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end(), is_newer);
  return found;
}

fs::path find_checkpoint(const fs::path& checkpoints, const std::string& link) {
  for (const fs::path& path : {checkpoints / link, checkpoints / "last"}) {
    if (fs::is_directory(path)) return path;
  }
  throw CheckpointError(
      fmt::format("{}: no checkpoint is there yet; training saves one at each evaluation, and when "
                  "Ctrl-C or SIGTERM stops it",
                  checkpoints.string()));
}

}  // namespace dsf
