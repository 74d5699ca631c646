// Names of any bytes in a figure: its script must be the same commands whatever the names are. The
// input's parts, between NUL bytes, become the file's name, the title, a label on the axis and the
// curves' labels.

#include <algorithm>
#include <vector>

#include "dsf/base/utf8.h"
#include "lab/report/figure.h"
#include "tests/fuzz/target.h"

namespace dsf {
namespace {

std::vector<std::string> parts_of(std::string_view input) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= input.size();) {
    const std::size_t end = std::min(input.find('\0', begin), input.size());
    parts.emplace_back(input.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

struct Script {
  std::string commands;              ///< without what stands in single quotes
  std::vector<std::string> strings;  ///< what stood there
};

/// As gnuplot reads a line: '' inside single quotes is one quote, nothing else is special there.
Script read_script(std::string_view text) {
  Script script;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\'') {
      script.commands += text[at];
      continue;
    }
    std::string string;
    for (++at;; ++at) {
      require(at < text.size() && text[at] != '\n', "a string ends on its line");
      if (text[at] == '\'' && !text.substr(at).starts_with("''")) break;
      if (text[at] == '\'') ++at;
      string += text[at];
    }
    script.commands += "''";
    script.strings.push_back(std::move(string));
  }
  return script;
}

Script script_of(const std::vector<std::string>& parts) {
  Figure figure{.title = parts[1], .x_label = parts[2], .y_label = parts[3]};
  figure.x_names = {parts[2]};
  for (std::size_t i = 3; i < parts.size(); ++i) {
    figure.curves.push_back({.label = parts[i], .method = "", .x = {1, 2}, .y = {2, 1}});
  }
  return read_script(figure_script(figure, parts[0]));
}

}  // namespace
}  // namespace dsf

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dsf;
  const SecondLimit limit;
  std::vector<std::string> parts = parts_of(as_text(data, size));
  parts.resize(std::clamp<std::size_t>(parts.size(), 4, 40));
  const Script script = script_of(parts);
  const Script harmless = script_of(std::vector<std::string>(parts.size(), "name"));
  require(script.commands == harmless.commands, "names change no command");
  require(script.strings.size() == harmless.strings.size(), "a name is one string");
  for (std::size_t i = 0; i < script.strings.size(); ++i) {
    const std::string& string = script.strings[i];
    require(find_malformed_utf8(string) == std::string_view::npos, "strings are UTF-8");
    require(std::none_of(string.begin(), string.end(), [](char c) { return c >= 0 && c < ' '; }),
            "strings have no control characters");
    const bool is_file = harmless.strings[i].starts_with("./");
    require(!is_file || string.starts_with("./"), "a file is not a pipe");
  }
  return 0;
}
