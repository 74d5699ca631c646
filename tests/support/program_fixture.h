#pragma once

// The real program at work on a small text, in a directory of its own.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "dsf/base/dim.h"
#include "tests/support/program.h"
#include "tests/support/temp_directory.h"

namespace dsf {

/// Of a command line.
using Words = std::vector<std::string>;

/// `words`, then `more`.
Words joined(Words words, const Words& more);

/// "--set" and "section.key=value", for each of the settings.
Words sets(const Words& settings);

/// With these `dsf train` is a matter of moments. Settings that follow win.
const Words& tiny_model();

class ProgramTest : public ::testing::Test {
 protected:
  /// Writes text.txt.
  explicit ProgramTest(dim_t lines = 120);

  /// Of a file or run in the directory of this test.
  std::string path(std::string_view name) const { return directory_ / name; }

  /// Runs the program, which must succeed, and gives what it printed.
  static std::string run_ok(const Words& words);

  /// The words that train a tiny model on text.txt: `dsf train --out path(run) ...`, then `more`.
  Words train(const std::string& run, const Words& more = {}) const;

  /// The lines of a run's log.jsonl.
  std::vector<nlohmann::json> log_of(const std::string& run) const;

  TempDirectory directory_;
};

}  // namespace dsf
