#include "dsf/dist/communicator.h"

namespace dsf {

FlatRange part_of(dim_t size, int index, int count) {
  return {size * index / count, size * (index + 1) / count};
}

}  // namespace dsf
