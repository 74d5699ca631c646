// A configuration file of any bytes; behind the letter s, what one may write behind --set.

#include "dsf/base/error.h"
#include "dsf/base/hash.h"
#include "dsf/run/config_file.h"
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
  const SecondLimit limit;
  if (size == 0) return 0;
  const std::string text(as_text(data + 1, size - 1));
  try {
    const std::vector<Assignment> assignments =
        data[0] == 's' ? std::vector{parse_assignment(text)} : parse_config(text, "input");
    const RunConfig config = with_assignments(RunConfig(), assignments);
    // Writing all keys takes ten times as long as reading a few of them.
    constexpr std::uint64_t kOneIn = 16;
    if (hash_bytes(text) % kOneIn == 0) check_round_trip(config);
  } catch (const ConfigError&) {
    return 0;
  }
  return 0;
}
