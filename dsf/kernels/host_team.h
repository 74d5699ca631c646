#pragma once

// The threads of a program that has its own, in the place of ours. A host such as PyTorch keeps its threads
// spinning for milliseconds after each of its operations; threads of ours would have to share the CPUs with
// them.

#include <type_traits>

namespace dsf {

/// Runs member(context) on `threads` threads at once, the caller among them, and returns when all are back. Less
/// threads may come. This is the signature of OpenMP's GOMP_parallel; its flags are 0 here.
using HostTeam = void (*)(void (*member)(void* context), void* context, unsigned threads,
                          unsigned flags);

namespace detail {
void with_host_team(HostTeam team, int threads, void (*body)(void* context), void* context);
}

/// Calls body() on this thread. Every parallel_for inside has the team's threads as its workers, and the
/// pool's own are left asleep; unless a team came late a short while ago, which tells of other processes on
/// its CPUs: then the pool serves. What body throws is thrown here.
template <typename Body>
void with_host_team(HostTeam team, int threads, Body&& body) {
  detail::with_host_team(
      team, threads,
      [](void* context) { (*static_cast<std::remove_reference_t<Body>*>(context))(); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace dsf
