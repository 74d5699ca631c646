#pragma once

#include <memory>
#include <string>

#include "dsf/dist/communicator.h"

namespace dsf {

/// True if this program was compiled with MPI.
bool built_with_mpi();

/// How many processes the launcher (mpirun, or srun with PMIx) says it started together; 1 without
/// a launcher.
int launched_processes();

/// The ranks this process was started with: MPI's under a launcher, else a single process. Once in
/// the life of a process. Throws UsageError if a launcher started several processes of a program
/// without MPI.
std::unique_ptr<Communicator> join_ranks();

/// The threads a rank should use: the CPUs it may run on, shared among the ranks of its machine,
/// unless the launcher has bound each rank to CPUs of its own.
int threads_per_rank(int allowed_cpus, int local_ranks, bool bound);
int threads_per_rank(const Communicator& ranks);

/// If the launcher has bound the ranks so that most CPUs of the machine stay idle: what to do
/// about it. Else "".
std::string binding_advice(const Communicator& ranks, int threads);

}  // namespace dsf
