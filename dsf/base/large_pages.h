#pragma once

#include <cstddef>

namespace dsf {

/// 2 MiB on x86-64: what one entry of the second level of its page tables maps.
inline constexpr std::size_t kLargePage = std::size_t{1} << 21U;

/// Asks the kernel to back the large pages that lie whole inside of this memory as such, if it gives
/// them to those who ask. The first touch of such a page is one page fault instead of 512, and a
/// matrix product needs few entries of the table of translations. Contents stay as they are, and no
/// memory outside of the range is taken. A kernel that refuses changes nothing.
void advise_large_pages(void* memory, std::size_t bytes);

}  // namespace dsf
