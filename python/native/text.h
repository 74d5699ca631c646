#pragma once

#include <string>

#include "python/native/dsf_native.h"

namespace dsf::native {

/// Keeps `text` for this thread and says where it is.
dsf_text hand_out(std::string text);

/// A C string that may be null.
inline std::string string_of(const char* text) { return text == nullptr ? "" : text; }

}  // namespace dsf::native
