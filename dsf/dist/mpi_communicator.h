#pragma once

#include <memory>

#include "dsf/dist/communicator.h"

namespace dsf {

/// All processes that the launcher started. Throws UsageError if dsf was built without MPI.
std::unique_ptr<Communicator> make_mpi_communicator();

}  // namespace dsf
