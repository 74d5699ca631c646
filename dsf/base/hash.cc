#include "dsf/base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace dsf {

struct Hasher::State {
  XXH3_state_t* xxh3 = XXH3_createState();

  State() {
    if (xxh3 == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(xxh3);
  }
  ~State() { XXH3_freeState(xxh3); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(const void* data, std::size_t size) {
  XXH3_64bits_update(state_->xxh3, data, size);
}

std::uint64_t Hasher::digest() const { return XXH3_64bits_digest(state_->xxh3); }

std::uint64_t hash_bytes(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string to_hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

}  // namespace dsf
