#include <string>

#include "dsf/base/version.h"
#include "python/native/dsf_native.h"

const char* dsf_library_version() {
  static const std::string text(dsf::version());
  return text.c_str();
}
