#include "evaluate/key_levels.h"

#include <numeric>

namespace bdnn {

std::size_t mark_relevant(const Relevance& relevance, std::size_t query, std::size_t codes,
                          std::vector<std::uint8_t>& is_relevant) {
  is_relevant.assign(codes, 0);
  if (const auto* lists = std::get_if<Relevance::Neighbours>(&relevance.of)) {
    for (const std::int32_t id : lists->ids.subspan(query * lists->per_query, lists->per_query)) {
      is_relevant[static_cast<std::size_t>(id)] = 1;
    }
  } else {
    const auto& labels = std::get<Relevance::Labels>(relevance.of);
    for (std::size_t i = 0; i < codes; ++i) is_relevant[i] = labels.database[i] == labels.queries[query] ? 1 : 0;
  }
  const std::int64_t left_out = left_out_of(relevance, query);
  if (left_out >= 0) is_relevant[static_cast<std::size_t>(left_out)] = 0;
  return std::accumulate(is_relevant.begin(), is_relevant.end(), std::size_t{0});
}

}  // namespace bdnn
