// XXH3 of 64 bits: finds accidents, not attacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace bdnn {

class Checksum {
 public:
  Checksum();
  ~Checksum();
  void add(std::span<const std::byte> bytes);
  void reset();
  std::uint64_t value() const;

 private:
  struct State;  // of the library, which takes long to compile and stays in the source
  std::unique_ptr<State> state_;
};

std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace bdnn
