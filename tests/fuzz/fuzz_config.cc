// A configuration file of any bytes, and the same bytes behind --set.

#include "dsf/base/error.h"
#include "dsf/train/config_file.h"
#include "tests/fuzz/target.h"

namespace dsf {
namespace {

// What was accepted can be written and read back as the same configuration.
void check_round_trip(const RunConfig& config) {
  const std::string text = to_toml(config);
  const RunConfig again = with_assignments(RunConfig(), parse_config(text, "written"));
  require(to_toml(again) == text, "a written configuration is read back as it was");
}

}  // namespace
}  // namespace dsf

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dsf;
  const std::string text(as_text(data, size));
  try {
    check_round_trip(with_assignments(RunConfig(), parse_config(text, "input")));
  } catch (const ConfigError&) {
  }
  try {
    check_round_trip(with_assignments(RunConfig(), {parse_assignment(text)}));
  } catch (const ConfigError&) {
  }
  return 0;
}
