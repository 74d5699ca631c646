#include "lab/bench/tile_palette.h"

#include <asm/prctl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX, sigaction
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "dsf/base/cpu_info.h"

namespace dsf {
namespace {

constexpr unsigned kTileLeaf = 0x1D;
constexpr unsigned kTileProductLeaf = 0x1E;

// Intel SDM, volume 1, "Intel AMX": palette 1 has 8 tiles of 16 rows of 64 bytes.
CpuidAnswer describe_palette(unsigned leaf, unsigned subleaf) {
  constexpr unsigned kTiles = 8;
  constexpr unsigned kRows = 16;
  constexpr unsigned kRowBytes = 64;
  constexpr unsigned kTileBytes = kRows * kRowBytes;
  if (leaf == kTileProductLeaf) return {.b = kRowBytes << 8U | kRows};
  if (subleaf == 0) return {.a = 1};  // the last palette's number
  if (subleaf > 1) return {};
  return {.a = kTileBytes << 16U | kTiles * kTileBytes, .b = kTiles << 16U | kRowBytes, .c = kRows};
}

// Whether this thread may execute CPUID; if not, the instruction is a segmentation fault.
bool allow_cpuid(bool allowed) {
  return syscall(SYS_arch_prctl, ARCH_SET_CPUID, static_cast<unsigned long>(allowed)) == 0;
}

std::mutex one_at_a_time;
struct sigaction action_before;

void answer_cpuid(int signal, siginfo_t* /*info*/, void* context) {
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  constexpr std::uint16_t kCpuid = 0xA20F;
  std::uint16_t instruction = 0;
  std::memcpy(&instruction, reinterpret_cast<const void*>(registers[REG_RIP]), sizeof(instruction));
  if (instruction != kCpuid) {  // a real fault, of this thread or another: it happens again
    sigaction(signal, &action_before, nullptr);
    return;
  }
  const auto leaf = static_cast<unsigned>(registers[REG_RAX]);
  const auto subleaf = static_cast<unsigned>(registers[REG_RCX]);
  CpuidAnswer answer;
  if (leaf == kTileLeaf || leaf == kTileProductLeaf) {
    answer = describe_palette(leaf, subleaf);
  } else {
    allow_cpuid(true);
    answer = cpuid(leaf, subleaf);
    allow_cpuid(false);
  }
  registers[REG_RAX] = answer.a;
  registers[REG_RBX] = answer.b;
  registers[REG_RCX] = answer.c;
  registers[REG_RDX] = answer.d;
  registers[REG_RIP] += sizeof(kCpuid);
}

}  // namespace

bool hides_tile_palette() {
  static const bool hides = cpu_has("amx_tile") && cpuid(kTileLeaf).a == 0;
  return hides;
}

ShownTilePalette::ShownTilePalette(bool needed) {
  if (!needed) return;
  alone_ = std::unique_lock(one_at_a_time);
  struct sigaction action {};
  action.sa_sigaction = answer_cpuid;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &action_before);
  trapped_ = allow_cpuid(false);
  if (!trapped_) sigaction(SIGSEGV, &action_before, nullptr);
}

ShownTilePalette::~ShownTilePalette() {
  if (!trapped_) return;
  allow_cpuid(true);
  sigaction(SIGSEGV, &action_before, nullptr);
}

}  // namespace dsf
