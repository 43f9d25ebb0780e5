// Exact search by Hamming distance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bdnn/codes.h"

namespace bdnn {

struct Neighbour {
  std::uint64_t id = 0;        // the position of the code in the database
  std::uint32_t distance = 0;  // in bits

  bool operator==(const Neighbour&) const = default;
};

struct SearchOptions {
  std::size_t k = 10;                      // the k nearest ...
  std::optional<std::size_t> radius = {};  // ... or, where set, all within this distance, the distance itself included
  int threads = 0;                         // 0: one per core. Results do not depend on it
};

// The neighbours of each query, by ascending distance, then ascending id. There are fewer than k where the database
// has fewer; nothing is padded. Codes of different lengths, or of different models, raise Error.
std::vector<std::vector<Neighbour>> search(const Codes& database, const Codes& queries,
                                           const SearchOptions& options = {});

}  // namespace bdnn
