#pragma once

// Lists on a command line: "--only a b" and "--only a,b" mean the same.

#include <set>
#include <span>
#include <string>
#include <vector>

namespace dsf {

/// What a command knows of its words.
struct CommandWords {
  std::set<std::string> lists;       ///< options that take several values: "--only"
  std::set<std::string> single;      ///< options that take one: "--out"
  std::size_t places = 0;            ///< words that it takes without an option
  std::set<std::string> at_a_place;  ///< the only words that may stand there; empty: any
};

/// `words`, those behind the command's name, with the values of each list joined by commas. A word
/// behind a list is one of its values unless it begins with "-" or the command still waits for a
/// word of its own that this may be.
std::vector<std::string> join_lists(std::span<const std::string> words,
                                    const CommandWords& command);

}  // namespace dsf
