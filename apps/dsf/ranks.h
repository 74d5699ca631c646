#pragma once

#include <functional>

#include "dsf/dist/communicator.h"

namespace dsf {

/// Calls `work` with the ranks this process was started with (mpirun), or with a single one. An
/// error on any of several ranks is told once and ends all of them, with the error's exit code;
/// only rank 0 shows messages that are not errors.
void with_ranks(const std::function<void(Communicator&)>& work);

}  // namespace dsf
