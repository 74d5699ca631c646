#pragma once

// Runs of a few seconds of the real program under mpirun.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/program_fixture.h"
#include "tests/support/ranks.h"
#include "tests/support/small_text.h"

namespace dsf {

/// A directory with a text of its own and its runs.
class ParallelRuns : public ProgramTest {
 protected:
  // 81 sentences in batches of 8: the last batch of an epoch has one, so most ranks have none.
  ParallelRuns() : ProgramTest(81) { directory_.write("valid.txt", small_text(30, 8)); }

  /// The words for a run that ranks can share.
  Words train_shared(const std::string& run, const Words& settings, const Words& more = {}) const {
    const Words files = {"--valid",         path("valid.txt"), "--test",
                         path("valid.txt"), "--precision",     "f32"};
    const Words shared = {"model.hidden=12",    "model.layers=2", "train.batch=8",
                          "train.lr=0.01",      "train.clip=1",   "train.log_every=1",
                          "train.eval_every=20"};
    return joined(joined(train(run, files), sets(joined(shared, settings))), more);
  }

  void train_on(int ranks, const std::string& run, const Words& settings,
                const Words& more = {}) const {
    const ProgramResult result = run_dsf_on_ranks(ranks, train_shared(run, settings, more));
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  }

  /// Losses of the train and eval lines, in order.
  std::vector<double> losses_of(const std::string& run) const {
    std::vector<double> losses;
    for (const nlohmann::json& line : log_of(run)) {
      if (line["event"] == "train" || line["event"] == "eval") losses.push_back(line["loss"]);
    }
    return losses;
  }
};

}  // namespace dsf
