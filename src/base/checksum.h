// XXH3 of 64 bits: finds accidents, not attacks.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <memory>
#include <span>

namespace bdnn {

class Checksum {
 public:
  Checksum() : state_(XXH3_createState(), [](XXH3_state_t* s) { XXH3_freeState(s); }) {
    XXH3_64bits_reset(state_.get());
  }
  void add(std::span<const std::byte> bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, void (*)(XXH3_state_t*)> state_;
};

inline std::uint64_t checksum(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace bdnn
