// Rankings by a key with too many values to have a counter for each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bdnn/metrics.h"

namespace bdnn {

// The levels of a TieRanking: 1, 3, 5, ... hold the codes with the key of some relevant code, 0, 2, 4, ... the
// codes before, between and after. The order of the irrelevant codes within these makes no difference.
template <class Key>
class KeyLevels {
 public:
  // Starts again, from the keys key_of(i) of the codes i for which is_relevant[i] is not 0.
  template <class KeyOf>
  void assign(const std::vector<std::uint8_t>& is_relevant, const KeyOf& key_of) {
    relevant_.clear();
    for (std::size_t i = 0; i < is_relevant.size(); ++i) {
      if (is_relevant[i] != 0) relevant_.push_back(key_of(i));
    }
    std::sort(relevant_.begin(), relevant_.end());
    relevant_.erase(std::unique(relevant_.begin(), relevant_.end()), relevant_.end());
  }

  std::size_t count() const { return 2 * relevant_.size() + 1; }

  std::size_t of(Key key) const {
    const auto at = std::lower_bound(relevant_.begin(), relevant_.end(), key);
    const auto place = static_cast<std::size_t>(at - relevant_.begin());
    return 2 * place + (at != relevant_.end() && *at == key ? 1 : 0);
  }

 private:
  std::vector<Key> relevant_;  // ascending, each once
};

// The code that is left out of a query's ranking, or -1.
inline std::int64_t left_out_of(const Relevance& relevance, std::size_t query) {
  return relevance.self.empty() ? -1 : relevance.self[query];
}

// Sets is_relevant[i] to 1 for the codes that are relevant to a query, else to 0; returns their number.
std::size_t mark_relevant(const Relevance& relevance, std::size_t query, std::size_t codes,
                          std::vector<std::uint8_t>& is_relevant);

}  // namespace bdnn
