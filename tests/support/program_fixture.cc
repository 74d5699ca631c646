#include "tests/support/program_fixture.h"

#include <sstream>

#include "tests/support/small_text.h"

namespace dsf {

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words sets(const Words& settings) {
  Words words;
  for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
  return words;
}

const Words& tiny_model() {
  static const Words words =
      joined({"--threads", "1"}, sets({"model.hidden=8", "train.batch=4", "data.context=6"}));
  return words;
}

ProgramTest::ProgramTest(dim_t lines) { directory_.write("text.txt", small_text(lines)); }

std::string ProgramTest::run_ok(const Words& words) {
  const ProgramResult result = run_dsf(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out;
}

Words ProgramTest::train(const std::string& run, const Words& more) const {
  const Words words = {"train", "--data", path("text.txt"), "--out", path(run)};
  return joined(joined(words, tiny_model()), more);
}

std::vector<nlohmann::json> ProgramTest::log_of(const std::string& run) const {
  std::vector<nlohmann::json> lines;
  std::istringstream in(slurp(directory_ / run / "log.jsonl"));
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace dsf
