#pragma once

#include <string>

namespace dsf {

/// "BPTT", "FT-BPTT", "DSF": how people write the name of a feedback method.
std::string method_title(const std::string& method);

}  // namespace dsf
