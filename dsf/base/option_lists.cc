#include "dsf/base/option_lists.h"

namespace dsf {
namespace {

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

}  // namespace

std::vector<std::string> join_lists(std::span<const std::string> words,
                                    const CommandWords& command) {
  std::vector<std::string> joined;
  std::size_t placed = 0;
  const auto is_value = [&](const std::string& word) {
    if (is_option(word)) return false;
    const bool has_place = placed < command.places;
    return !has_place || (!command.at_a_place.empty() && !command.at_a_place.contains(word));
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    joined.push_back(word);
    if (word == "--") {  // what follows is not an option, whatever it looks like
      joined.insert(joined.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    const std::size_t equals = word.find('=');
    const bool has_value = equals != std::string::npos;
    const std::string name = word.substr(0, equals);
    const bool is_list = command.lists.contains(name);
    if (!is_list && !is_option(word)) ++placed;
    if (!is_list && (has_value || !command.single.contains(name))) continue;
    if (!has_value) {
      const bool is_there = i + 1 < words.size() && !(is_list && is_option(words[i + 1]));
      if (!is_there) continue;
      joined.push_back(words[++i]);
    }
    while (is_list && i + 1 < words.size() && is_value(words[i + 1])) {
      joined.back() += "," + words[++i];
    }
  }
  return joined;
}

}  // namespace dsf
