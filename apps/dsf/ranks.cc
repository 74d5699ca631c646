#include "apps/dsf/ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <thread>

#include "dsf/base/error.h"
#include "dsf/base/log.h"
#include "dsf/dist/launch.h"

namespace dsf {
namespace {

// An error that all ranks meet is rank 0's to tell: it ends the others before they speak.
constexpr std::chrono::seconds kRankZeroFirst{1};

void fail(Communicator& ranks, const std::exception& error) {
  if (!ranks.leads()) std::this_thread::sleep_for(kRankZeroFirst);
  const auto* known = dynamic_cast<const Error*>(&error);
  log_error(ranks.leads() ? error.what() : fmt::format("rank {}: {}", ranks.rank(), error.what()));
  ranks.abort(known == nullptr ? 1 : known->exit_code());
}

}  // namespace

void with_ranks(const std::function<void(Communicator&)>& work) {
  const std::unique_ptr<Communicator> ranks = join_ranks();
  if (ranks->size() == 1) return work(*ranks);
  if (!ranks->leads()) mute_messages();
  try {
    work(*ranks);
  } catch (const std::exception& error) {
    // Leaving by the exception would wait for ranks that may never come.
    fail(*ranks, error);
  }
}

}  // namespace dsf
