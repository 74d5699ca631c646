#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/temp_directory.h"

namespace dsf {

/// The log of a run of two evaluations, the second of which is worse, with a loss that was not finite.
inline constexpr const char* kRunLog =
    R"({"event":"start","step":0,"total_steps":9,"parameters":123,"vocab":7}
{"event":"train","step":2,"loss":3.0,"learning_rate":0.1,"gradient_norm":1.5,"tokens_per_second":10}
{"event":"eval","step":2,"loss":2.0,"perplexity":7.5,"seconds":3.5}
{"event":"train","step":4,"loss":null,"learning_rate":0.1,"tokens_per_second":20}
{"event":"eval","step":4,"loss":2.5,"perplexity":12.0}
)";

/// A test with directories of runs that nobody has trained: a configuration and a log each.
class WrittenRuns : public ::testing::Test {
 protected:
  std::filesystem::path make_run(const std::string& name, const std::string& log,
                                 const std::string& method = "dsf") const {
    directory_.write(name + "/config.toml", "[feedback]\nmethod = \"" + method + "\"\n");
    directory_.write(name + "/log.jsonl", log);
    return directory_ / name;
  }

  TempDirectory directory_;
};

}  // namespace dsf
