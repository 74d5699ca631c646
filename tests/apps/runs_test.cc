// dsf runs and dsf plot on real runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/program.h"
#include "tests/support/small_text.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(RunsAndPlot, ListAndDrawWhatWasTrained) {
  const TempDirectory directory;
  const std::string text = directory.write("text.txt", small_text(60));
  const std::string runs = directory / "runs";
  for (const std::string method : {"dsf", "ft"}) {
    const ProgramResult trained =
        run_dsf({"train", "--data", text, "--out", runs + "/" + method, "--feedback", method,
                 "--steps", "6", "--eval-every", "2", "--threads", "1", "--set", "model.hidden=8",
                 "--set", "train.batch=4", "--set", "train.log_every=1"});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
  }
  const ProgramResult listed = run_dsf({"runs", runs, "--json"});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  const auto json = nlohmann::json::parse(listed.out);
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[1]["method"], "ft");
  EXPECT_EQ(json[1]["state"], "done");
  EXPECT_EQ(json[1]["step"], 6);
  EXPECT_GT(json[1]["best_perplexity"].get<double>(), 1.0);
  EXPECT_THAT(run_dsf({"runs", runs}).out, HasSubstr("FT-BPTT"));
  EXPECT_EQ(run_dsf({"runs", directory / "none"}).exit_code, 2);

  const std::string out = directory / "plots";
  const std::vector<std::string> plot = {"plot", runs + "/dsf", runs + "/ft", "--out", out};
  const ProgramResult drawn = run_dsf(plot);
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  if (!fs::exists(out + "/loss.svg")) GTEST_SKIP() << "gnuplot is not installed";
  for (const char* name :
       {"loss", "perplexity", "learning_rate", "gradient_norm", "tokens_per_second"}) {
    EXPECT_THAT(slurp(out + "/" + name + ".svg"), HasSubstr("<svg")) << name;
    EXPECT_TRUE(fs::exists(out + "/" + name + ".png")) << name;
  }
  EXPECT_EQ(run_dsf(plot).exit_code, 2);
  EXPECT_EQ(run_dsf({"plot", runs + "/dsf", "--out", out, "--force"}).exit_code, 0);
  EXPECT_EQ(run_dsf({"plot", runs}).exit_code, 2);
}

}  // namespace
}  // namespace dsf
