#include "dsf/dist/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "dsf/base/error.h"
#include "dsf/dist/mpi_communicator.h"
#include "dsf/dist/single_process.h"
#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

// mpirun binds ranks to CPUs unless told not to, and says so.
bool bound_at_launch() { return number_in("OMPI_MCA_orte_bound_at_launch", 0) != 0; }

}  // namespace

int launched_processes() {
  // srun starts an Open MPI program through PMIx and tells the number in a variable of its own.
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr && std::getenv("PMIX_RANK") != nullptr) {
    return number_in("SLURM_NTASKS", 1);
  }
  return number_in("OMPI_COMM_WORLD_SIZE", 1);
}

std::unique_ptr<Communicator> join_ranks() {
  const int processes = launched_processes();
  if (processes <= 1) return std::make_unique<SingleProcess>();
  if (!built_with_mpi()) {
    throw UsageError(
        fmt::format("{} processes were started together, but this dsf was built without MPI: "
                    "configure it with -DDSF_WITH_MPI=ON, or start it alone",
                    processes));
  }
  return make_mpi_communicator();
}

int threads_per_rank(int allowed_cpus, int local_ranks, bool bound) {
  return bound ? allowed_cpus : std::max(1, allowed_cpus / local_ranks);
}

int threads_per_rank(const Communicator& ranks) {
  return threads_per_rank(thread_count(), ranks.local_ranks(), bound_at_launch());
}

std::string binding_advice(const Communicator& ranks, int threads) {
  const int cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  const int share = cpus / ranks.local_ranks();
  if (!bound_at_launch() || 2 * threads > share) return "";
  return fmt::format(
      "mpirun has bound each of {} ranks to {} of {} CPUs; --bind-to none lets each use {}",
      ranks.local_ranks(), threads, cpus, share);
}

}  // namespace dsf
