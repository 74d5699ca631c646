#pragma once

#include <exception>
#include <string>

namespace dsf {

/// What to tell a person about any exception: an Error's own sentence, or one for what the standard
/// library throws if memory or files run out. Anything else is called an internal error.
std::string message_of(const std::exception& error);

}  // namespace dsf
