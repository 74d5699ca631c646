#include "python/native/text.h"

namespace dsf::native {

dsf_text hand_out(std::string text) {
  thread_local std::string kept;
  kept = std::move(text);
  return {kept.data(), kept.size()};
}

}  // namespace dsf::native
