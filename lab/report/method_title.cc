#include "lab/report/method_title.h"

namespace dsf {

std::string method_title(const std::string& method) {
  if (method == "bptt") return "BPTT";
  if (method == "ft") return "FT-BPTT";
  if (method == "dsf") return "DSF";
  return method;
}

}  // namespace dsf
