#pragma once

#include <string>
#include <vector>

#include "dsf/feedback/feedback_method.h"

namespace dsf::testing {

/// Every feedback of the library by a name it can be made by: "iterated:K" is "iterated:2".
inline std::vector<std::string> every_feedback() {
  std::vector<std::string> names = feedback_methods();
  for (std::string& name : names) {
    if (name.ends_with(":K")) name.back() = '2';
  }
  return names;
}

}  // namespace dsf::testing
