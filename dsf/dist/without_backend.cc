// Compiled in place of mpi_communicator.cc if the program is built without MPI.

#include "dsf/base/error.h"
#include "dsf/dist/launch.h"
#include "dsf/dist/mpi_communicator.h"

namespace dsf {

bool built_with_mpi() { return false; }

std::unique_ptr<Communicator> make_mpi_communicator() {
  throw UsageError("this dsf was built without MPI");
}

}  // namespace dsf
