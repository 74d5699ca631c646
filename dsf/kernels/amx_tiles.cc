#include "dsf/kernels/amx_tiles.h"

#include <asm/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dsf/base/max_isa.h"
#include "dsf/kernels/bf16_pairs.h"
#include "dsf/kernels/gemm_operand.h"

namespace dsf::amx {
namespace {

static_assert(kTileRows == kSquareSide && kTileCols == kSquareSide && kTileDepth == kSquareDepth);

// A tile after the other along the depth, then those of the next 16 rows or columns.
SquarePlaces tile_places(dim_t depth) {
  return {kTileDepth, kTileNumbers, ceil_div(depth, kTileDepth) * kTileNumbers};
}

}  // namespace

bool available() {
  static const bool granted = [] {
    if (!may_use(Isa::amx)) return false;
    constexpr unsigned long kTileData = 18;
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, kTileData) == 0;
  }();
  return granted;
}

void pack_left(Op op, const OperandView& a, bf16_t* tiles) {
  pack_rows(op, a, tile_places(op_cols(op, a)), tiles);
}

void pack_right(Op op, const OperandView& b, bf16_t* tiles) {
  pack_pairs(op, b, tile_places(op_rows(op, b)), tiles);
}

}  // namespace dsf::amx
