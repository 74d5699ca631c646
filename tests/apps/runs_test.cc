// dsf runs and dsf plot on real runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/program_fixture.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class RunsAndPlot : public ProgramTest {};

TEST_F(RunsAndPlot, ListAndDrawWhatWasTrained) {
  const std::string runs = path("runs");
  for (const std::string method : {"dsf", "ft"}) {
    run_ok(train("runs/" + method, {"--feedback", method, "--steps", "6", "--eval-every", "2",
                                    "--set", "train.log_every=1"}));
  }
  const auto json = nlohmann::json::parse(run_ok({"runs", runs, "--json"}));
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[1]["method"], "ft");
  EXPECT_EQ(json[1]["state"], "done");
  EXPECT_EQ(json[1]["step"], 6);
  EXPECT_GT(json[1]["best_perplexity"].get<double>(), 1.0);
  EXPECT_THAT(run_ok({"runs", runs}), HasSubstr("FT-BPTT"));
  EXPECT_EQ(run_dsf({"runs", path("none")}).exit_code, 2);

  const std::string out = path("plots");
  const Words plot = {"plot", runs + "/dsf", runs + "/ft", "--out", out};
  const ProgramResult drawn = run_dsf(plot);
  if (drawn.err.find("gnuplot is not installed") != std::string::npos) GTEST_SKIP() << drawn.err;
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  for (const char* name :
       {"loss", "perplexity", "learning_rate", "gradient_norm", "tokens_per_second"}) {
    EXPECT_THAT(slurp(out + "/" + name + ".svg"), HasSubstr("<svg")) << name;
    EXPECT_TRUE(fs::exists(out + "/" + name + ".png")) << name;
  }
  EXPECT_EQ(run_dsf(plot).exit_code, 2);
  run_ok({"plot", runs + "/dsf", "--out", out, "--force"});
  EXPECT_EQ(run_dsf({"plot", runs}).exit_code, 2);
}

TEST_F(RunsAndPlot, PlotRunsNoCommandInTheNameOfARun) {
  const std::string run = "runs/`touch ran`";
  run_ok(train(run, {"--steps", "2", "--set", "train.log_every=1"}));
  const ProgramResult drawn =
      run_dsf({"plot", path(run), "--out", path("`touch ran_too`")}, directory_.path());
  if (drawn.err.find("gnuplot is not installed") != std::string::npos) GTEST_SKIP() << drawn.err;
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_FALSE(fs::exists(path("ran")));
  EXPECT_FALSE(fs::exists(path("ran_too")));
  EXPECT_TRUE(fs::exists(path("`touch ran_too`/loss.svg")));
}

TEST_F(RunsAndPlot, PlotWithoutGnuplotFails) {
  run_ok(train("run", {"--steps", "2", "--set", "train.log_every=1"}));
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  const ProgramResult drawn = run_dsf({"plot", path("run"), "--out", path("plots")});
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(drawn.exit_code, 1) << drawn.out;
  EXPECT_THAT(drawn.err, HasSubstr("install gnuplot"));
}

}  // namespace
}  // namespace dsf
