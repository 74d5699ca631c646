#pragma once

// AMX works on tiles whose sizes a program asks CPUID for (leaf 1DH, the palettes). Some hypervisors
// pass AMX through but answer that leaf with zeros. oneDNN then compiles kernels that configure no
// tiles, and the first of them to run ends the process with SIGILL. The only palette there is,
// number 1, is part of the architecture, so what the hypervisor leaves out can be filled in.

#include <mutex>

namespace dsf {

/// True if the CPU says that it has tiles but not how large they are.
bool hides_tile_palette();

/// While it lives, CPUID describes palette 1 to this thread; all other answers are the CPU's own.
/// One at a time in the process: others wait. By default it does nothing if nothing is hidden.
class ShownTilePalette {
 public:
  explicit ShownTilePalette(bool needed = hides_tile_palette());
  ~ShownTilePalette();
  ShownTilePalette(const ShownTilePalette&) = delete;
  ShownTilePalette& operator=(const ShownTilePalette&) = delete;

  /// False if it was not needed, or if the system cannot trap CPUID.
  bool shown() const { return trapped_; }

 private:
  std::unique_lock<std::mutex> alone_;
  bool trapped_ = false;
};

}  // namespace dsf
