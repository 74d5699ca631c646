#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace dsf {

/// Scratch memory for the tasks of a parallel_for: as many workspaces as tasks ever ran at once,
/// kept from step to step. A task must not rely on what the one before left in a workspace.
template <typename Workspace>
class WorkspacePool {
 public:
  /// One workspace, given back at the end of the scope.
  class Lease {
   public:
    Lease(WorkspacePool& pool, std::unique_ptr<Workspace> workspace)
        : pool_(pool), workspace_(std::move(workspace)) {}
    ~Lease() { pool_.give_back(std::move(workspace_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    Workspace& operator*() const { return *workspace_; }

   private:
    WorkspacePool& pool_;
    std::unique_ptr<Workspace> workspace_;
  };

  Lease borrow() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      // give_back, which runs in a destructor, must find room.
      idle_.reserve(static_cast<std::size_t>(++made_));
      return {*this, std::make_unique<Workspace>()};
    }
    std::unique_ptr<Workspace> workspace = std::move(idle_.back());
    idle_.pop_back();
    return {*this, std::move(workspace)};
  }

 private:
  void give_back(std::unique_ptr<Workspace> workspace) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> idle_;
  int made_ = 0;
};

}  // namespace dsf
