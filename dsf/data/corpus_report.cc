#include "dsf/data/corpus_report.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "dsf/base/utf8.h"
#include "dsf/data/words.h"

namespace dsf {
namespace {

using Types = std::unordered_set<std::string_view>;

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && is_ascii_space(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_ascii_space(line.back())) line.remove_suffix(1);
  return line;
}

// A title has one "=" on each side; sections of an article have two or more. Running text has such
// lines too, but not between blank ones.
bool is_title(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.size() > 4 && text.starts_with("= ") && text.ends_with(" =") &&
         !text.starts_with("= =") && !text.ends_with("= =");
}

// `seen`: the types of the training text, or null for that text itself.
SplitReport describe(std::string name, std::string_view text, const Types* seen, Types& types) {
  SplitReport report;
  report.name = std::move(name);
  report.bytes = static_cast<dim_t>(text.size());
  report.characters = count_code_points(text);
  bool after_blank = true;   // the line before, or the start of the text
  bool after_title = false;  // which counts once the line behind it turns out to be blank
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const dim_t before = report.tokens;
    for_each_word(line, [&](std::string_view word) {
      ++report.tokens;
      types.insert(word);
      if (word == "<unk>") ++report.unknown;
      if (seen != nullptr && !seen->contains(word)) ++report.unseen;
    });
    ++report.lines;
    const bool blank = report.tokens == before;
    if (blank) ++report.blank_lines;
    if (blank && after_title) ++report.documents;
    after_title = after_blank && is_title(line);
    after_blank = blank;
  }
  report.types = static_cast<dim_t>(types.size());
  return report;
}

}  // namespace

std::vector<SplitReport> describe_corpus(const CorpusText& text) {
  Types train;
  std::vector<SplitReport> reports = {describe("train", text.train, nullptr, train)};
  const auto add = [&](const char* name, const std::string& split) {
    Types types;
    if (!split.empty()) reports.push_back(describe(name, split, &train, types));
  };
  add("valid", text.valid);
  add("test", text.test);
  return reports;
}

}  // namespace dsf
