// Every configuration in configs/ is accepted, and has the paper's number of parameters.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dsf/model/language_model.h"
#include "dsf/run/config_file.h"
#include "tests/support/program.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

const fs::path kConfigs = fs::path(DSF_SOURCE_DIR) / "configs";

// As tables 2 and 4 print them.
double millions(double parameters) { return std::round(parameters / 1e5) / 10.0; }

double parameters_of(const std::string& config) {
  const ProgramResult result =
      run_dsf({"info", "--config", (kConfigs / config).string(), "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return nlohmann::json::parse(result.out).at("parameters").get<double>();
}

TEST(Configs, EveryOneIsAccepted) {
  int found = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kConfigs)) {
    if (entry.path().extension() != ".toml") continue;
    ++found;
    RunConfig config;
    ASSERT_NO_THROW(config = with_assignments(RunConfig(), read_config_file(entry.path())))
        << entry.path();
    EXPECT_GT(count_parameters(config.model, config.feedback, config.data.vocab), 0)
        << entry.path();
  }
  EXPECT_EQ(found, 4 + 14);
}

TEST(Configs, NamesSayWhatIsInside) {
  for (const auto& entry : fs::directory_iterator(kConfigs / "wikitext-103")) {
    const RunConfig config = with_assignments(RunConfig(), read_config_file(entry.path()));
    std::string name = std::string(name_of(config.model.mixer)) + "_" +
                       std::to_string(config.model.layers) + "L" +
                       std::to_string(config.model.hidden);
    if (config.data.context != 256) name += "_T" + std::to_string(config.data.context);
    EXPECT_EQ(entry.path().stem(), name);
  }
}

TEST(Configs, HaveThePapersNumberOfParameters) {
  EXPECT_EQ(millions(parameters_of("wikitext-103/gru_1L512.toml")), 20.3);
  EXPECT_EQ(millions(parameters_of("wikitext-103/gru_3L512.toml")), 28.2);
  EXPECT_EQ(millions(parameters_of("wikitext-103/gru_6L512.toml")), 40.0);
  EXPECT_EQ(millions(parameters_of("wikitext-103/gru_12L512.toml")), 63.7);
  EXPECT_EQ(millions(parameters_of("wikitext-103/ema_3L512.toml")), 28.2);
  // The paper counts attention without its learned positions, context x hidden.
  const double positions = 256.0 * 512.0;
  EXPECT_EQ(millions(parameters_of("wikitext-103/attention_3L512.toml") - positions), 25.9);
}

}  // namespace
}  // namespace dsf
