#include "dsf/layers/initial_weights.h"

#include "dsf/base/rng.h"

namespace dsf {

void draw_initial_weights(const ParameterTable& table, std::uint64_t seed, std::span<float> flat) {
  for (const ParameterInfo& entry : table.entries()) {
    Rng rng(seed, "init/" + entry.name);
    const auto values = flat.subspan(static_cast<std::size_t>(entry.id.offset),
                                     static_cast<std::size_t>(entry.id.size()));
    const auto scale = static_cast<double>(entry.init.scale);
    for (float& value : values) {
      switch (entry.init.kind) {
        case Init::Kind::zero:
          value = 0.0F;
          break;
        case Init::Kind::one:
          value = 1.0F;
          break;
        case Init::Kind::normal:
          value = static_cast<float>(scale * rng.normal());
          break;
        case Init::Kind::uniform:
          value = static_cast<float>(rng.uniform(-scale, scale));
          break;
      }
    }
  }
}

}  // namespace dsf
