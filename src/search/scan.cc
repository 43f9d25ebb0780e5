#include <algorithm>

#include "base/error.h"
#include "base/threads.h"
#include "bdnn/search.h"
#include "codes/hamming.h"

namespace bdnn {
namespace {

constexpr std::size_t kCodesPerPiece = 4096;  // their distances stay in the first-level cache

// The k nearest so far. A counter per distance tells the distance of the k-th, so no heap is kept: codes come in
// ascending id, hence one that is only as near as the k-th comes too late.
class NearestCollector {
 public:
  NearestCollector(std::size_t k, std::size_t bits) : k_(k), worst_(bits), counts_(bits + 1) {}

  void add(const std::uint16_t* distances, std::size_t n, std::uint64_t first_id) {
    for (std::size_t i = 0; i < n; ++i) {
      if (found_ >= k_ && distances[i] >= worst_) continue;
      candidates_.push_back({first_id + i, distances[i]});
      ++counts_[distances[i]];
      ++found_;
      while (found_ - counts_[worst_] >= k_) found_ -= counts_[worst_--];
    }
    if (candidates_.size() > 4 * k_ + kCodesPerPiece) drop_stale();
  }

  std::vector<Neighbour> take() {
    drop_stale();
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Neighbour& a, const Neighbour& b) { return a.distance < b.distance; });
    if (candidates_.size() > k_) candidates_.resize(k_);
    return std::move(candidates_);
  }

 private:
  void drop_stale() {
    std::erase_if(candidates_, [&](const Neighbour& n) { return n.distance > worst_; });
  }

  std::size_t k_;
  std::size_t worst_;      // the distance of the k-th nearest, once there are k
  std::size_t found_ = 0;  // how many candidates are within worst_
  std::vector<std::size_t> counts_;
  std::vector<Neighbour> candidates_;
};

class RadiusCollector {
 public:
  explicit RadiusCollector(std::size_t radius) : radius_(radius) {}

  void add(const std::uint16_t* distances, std::size_t n, std::uint64_t first_id) {
    for (std::size_t i = 0; i < n; ++i) {
      if (distances[i] <= radius_) found_.push_back({first_id + i, distances[i]});
    }
  }

  std::vector<Neighbour> take() {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Neighbour& a, const Neighbour& b) { return a.distance < b.distance; });
    return std::move(found_);
  }

 private:
  std::size_t radius_;
  std::vector<Neighbour> found_;
};

template <class Collector>
std::vector<Neighbour> scan(const Codes& database, const std::uint8_t* query, Collector collector) {
  std::vector<std::uint16_t> distances(kCodesPerPiece);
  const std::size_t bytes = database.bytes_per_code();
  for (std::size_t i = 0; i < database.size(); i += kCodesPerPiece) {
    const std::size_t n = std::min(kCodesPerPiece, database.size() - i);
    hamming_distances(query, database.data() + i * bytes, bytes, n, distances.data());
    collector.add(distances.data(), n, i);
  }
  return collector.take();
}

}  // namespace

std::vector<std::vector<Neighbour>> search(const Codes& database, const Codes& queries, const SearchOptions& options) {
  if (database.bits() != queries.bits()) {
    misuse("the queries have {} bits, the database has {}; encode both with the same model", queries.bits(),
           database.bits());
  }
  const std::string& a = database.origin().model;
  const std::string& b = queries.origin().model;
  if (!a.empty() && !b.empty() && a != b) {
    misuse("the database was encoded by model {}, the queries by {}; encode both with the same model", a, b);
  }
  if (!options.radius && options.k == 0) misuse("0 neighbours were asked for; ask for at least 1");
  std::vector<std::vector<Neighbour>> results(queries.size());
  Threads threads(options.threads);
  threads.for_each(queries.size(), [&](std::size_t i, int) {
    const std::uint8_t* query = queries[i].data();
    results[i] = options.radius ? scan(database, query, RadiusCollector(*options.radius))
                                : scan(database, query, NearestCollector(options.k, database.bits()));
  });
  return results;
}

}  // namespace bdnn
