#pragma once

#include <immintrin.h>

#include <cstdint>

namespace dsf::amx {

/// All eight tiles whole: 16 rows of 64 bytes. The memory layout is the instruction's.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// While it lives, this thread has AMX's tiles. Only on a machine that has them.
class ThreadTiles {
 public:
  [[gnu::target("amx-tile")]] ThreadTiles() {
    static constexpr TileShapes kShapes;
    _tile_loadconfig(&kShapes);
  }
  [[gnu::target("amx-tile")]] ~ThreadTiles() { _tile_release(); }
  ThreadTiles(const ThreadTiles&) = delete;
  ThreadTiles& operator=(const ThreadTiles&) = delete;
};

}  // namespace dsf::amx
