// dsf gradient, by the real program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/program_fixture.h"

namespace dsf {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class GradientCommand : public ProgramTest {
 protected:
  GradientCommand() {
    directory_.write("small.toml",
                     "[data]\ncontext = 6\n[model]\nhidden = 8\nlayers = 2\n[train]\nbatch = 4\n");
  }

  static const json& method_of(const json& report, const std::string& name) {
    for (const json& method : report.at("methods")) {
      if (method.at("method") == name) return method.at("parameters");
    }
    throw std::runtime_error("no such method: " + name);
  }
};

TEST_F(GradientCommand, ComparesAConfigurationAtItsStart) {
  const json report =
      json::parse(run_ok({"gradient", path("small.toml"), "--data", path("text.txt"), "--feedback",
                          "ft,iterated:100", "--batches", "2", "--json"}));
  EXPECT_EQ(report.at("step"), 0);
  EXPECT_EQ(report.at("methods").size(), 2U);
  EXPECT_NEAR(method_of(report, "iterated:100").at("total").at("cosine").get<double>(), 1.0, 1e-6);
  EXPECT_LT(method_of(report, "ft").at("total").at("cosine").get<double>(), 1.0 - 1e-6);
  EXPECT_TRUE(method_of(report, "ft").contains("blocks.1.mixer.weight_hh"));
}

TEST_F(GradientCommand, ComparesATrainedRun) {
  run_ok({"train", "--config", path("small.toml"), "--data", path("text.txt"), "--feedback",
          "gated", "--steps", "5", "--out", path("run"), "--quiet"});
  const std::string said = run_ok({"gradient", path("run"), "--batches", "2"});
  EXPECT_THAT(said, HasSubstr("after 5 steps"));
  for (const char* name : {"ft", "dsf", "gated", "iterated:1", "adaptive", "total"}) {
    EXPECT_THAT(said, HasSubstr(name));
  }
}

TEST_F(GradientCommand, TrainsOnTheWayLooksAtLagsAndDraws) {
  const json report =
      json::parse(run_ok({"gradient", path("small.toml"), "--data", path("text.txt"), "--feedback",
                          "ft,gated", "--batches", "1", "--steps", "3", "--every", "2", "--lags",
                          "--out", path("figures"), "--json"}));
  EXPECT_EQ(report.at("step"), 3);
  std::vector<int> steps;
  for (const json& point : report.at("course")) steps.push_back(point.at("step").get<int>());
  EXPECT_EQ(steps, (std::vector<int>{0, 2, 3}));
  EXPECT_TRUE(report["methods"][0]["layers"].contains("blocks.1"));
  EXPECT_EQ(report["lags"][0]["method"], "ft");
  EXPECT_EQ(report["lags"], report["course"].back()["lags"]);
  EXPECT_NE(report["lags"], report["course"].front()["lags"]) << "of other weights";
  EXPECT_GT(report["step_time_to_ft"]["gated"].get<double>(), 0.0);
  for (const char* name :
       {"gradient_course", "gradient_cost", "gradient_lags_0", "gradient_lags_3"}) {
    EXPECT_TRUE(std::filesystem::exists(directory_ / "figures" / (std::string(name) + ".gp")));
  }
}

TEST_F(GradientCommand, RefusesWhatItDoesNotKnow) {
  const ProgramResult nothing = run_dsf({"gradient", path("nothing")});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("neither the directory of a run nor a configuration"));
  const ProgramResult method =
      run_dsf({"gradient", path("small.toml"), "--data", path("text.txt"), "--feedback", "rtrl"});
  EXPECT_EQ(method.exit_code, 2);
  EXPECT_THAT(method.err, HasSubstr("known: bptt, ft, dsf, "));
}

}  // namespace
}  // namespace dsf
