// Words of a command line, between NUL bytes: joining lists loses no word, changes none and makes no
// difference the second time.

#include <algorithm>
#include <vector>

#include "dsf/base/option_lists.h"
#include "tests/fuzz/target.h"

namespace dsf {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Every word cut at its commas.
std::vector<std::string> flat(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) {
    for (std::string& part : split(word, ',')) all.push_back(std::move(part));
  }
  return all;
}

}  // namespace
}  // namespace dsf

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dsf;
  const SecondLimit limit;
  const std::vector<std::string> words = split(as_text(data, size), '\0');
  for (const CommandWords& command :
       {CommandWords{{"--only", "--batch"}, {"--seconds"}, 1, {"layer", "scan"}},
        CommandWords{{"--feedback"}, {"--out"}, 1, {}}, CommandWords{}}) {
    const std::vector<std::string> joined = join_lists(words, command);
    require(flat(joined) == flat(words), "every word stays in its place");
    require(joined.size() <= words.size(), "words are joined, not cut");
    require(join_lists(joined, command) == joined, "what is joined stays as it is");
  }
  return 0;
}
