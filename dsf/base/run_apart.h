#pragma once

#include <functional>
#include <string>

namespace dsf {

/// Runs `work` in a process of its own and gives what it returned: for code of others that may end
/// the process on input that it does not like. `what` says for messages what is being done.
///
/// Throws DataError with the text of a DataError that `work` threw; DataError if the process ended
/// in another way, with the last line that it wrote to stderr; InterruptedError, at once, if a
/// signal asks to stop meanwhile (InterruptGuard). `work` may start threads, but must not use those
/// that were there before.
std::string run_apart(const std::string& what, const std::function<std::string()>& work);

}  // namespace dsf
