#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dsf/feedback/feedback_method.h"

namespace dsf::testing {

/// Every feedback of the library by a name it can be made by: "iterated:K" is "iterated:2". A number
/// that may be left out is there once and left out once.
inline std::vector<std::string> every_feedback() {
  constexpr std::string_view kNumber = ":K";
  constexpr std::string_view kOptionalNumber = "[:K]";
  std::vector<std::string> names;
  for (std::string name : feedback_methods()) {
    if (name.ends_with(kOptionalNumber)) {
      name.resize(name.size() - kOptionalNumber.size());
      names.push_back(name);
      name += kNumber;
    }
    if (name.ends_with(kNumber)) name.back() = '2';
    names.push_back(name);
  }
  return names;
}

}  // namespace dsf::testing
