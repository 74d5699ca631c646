#pragma once

// What a person is told about an exception.

#include <exception>
#include <string>

namespace dsf {

/// The message of an Error as it is. Of the other exceptions what a person can act on, without the frames that the C++
/// library and nlohmann's JSON put around their messages.
std::string error_text(const std::exception& error);

}  // namespace dsf
