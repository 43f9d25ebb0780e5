// All metrics of 10,000 queries on 60,000 codes with 50 true neighbours each, beside the bare loop that any of them
// needs (distances and their histogram) and beside Faiss's flat binary index asked for the whole ranking, which is
// where metrics by sorting start. One thread each, all queries each; Faiss is given them in parts, for memory's sake.
//
//     build/bench/bench/evaluate_bench [BITS]
#include <faiss/IndexBinaryFlat.h>
#include <fmt/format.h>

#include "base/random.h"
#include "bdnn/metrics.h"
#include "codes/hamming.h"
#include "faiss_rival.h"
#include "timing.h"

namespace {

constexpr std::size_t kDatabase = 60000;
constexpr std::size_t kQueries = 10000;
constexpr std::size_t kNeighbours = 50;
constexpr std::size_t kPart = 500;  // queries that Faiss is given in a call
constexpr int kRounds = 3;
static_assert(kQueries % kPart == 0);

bdnn::Codes random_codes(std::size_t bits, std::size_t count, std::uint64_t seed) {
  bdnn::Random random(seed);
  std::vector<std::uint8_t> bytes(bits / 8 * count);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
  return {bits, count, std::move(bytes)};
}

// Sums what it counts, so that the loop is not optimised away.
std::uint64_t bare_loop(const bdnn::Codes& database, const bdnn::Codes& queries) {
  constexpr std::size_t kPiece = 4096;
  std::vector<std::uint16_t> distances(kPiece);
  std::uint64_t sum = 0;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const std::size_t stride = database.bits() + 1;
    std::vector<std::uint32_t> histogram(4 * stride);
    for (std::size_t at = 0; at < database.size(); at += kPiece) {
      const std::size_t n = std::min(kPiece, database.size() - at);
      bdnn::hamming_distances(queries[q].data(), database[at].data(), database.bytes_per_code(), n, distances.data());
      for (std::size_t i = 0; i < n / 4 * 4; i += 4) {
        for (std::size_t t = 0; t < 4; ++t) ++histogram[t * stride + distances[i + t]];
      }
      for (std::size_t i = n / 4 * 4; i < n; ++i) ++histogram[distances[i]];
    }
    sum += histogram[q % histogram.size()];
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bits = argc > 1 ? std::stoul(argv[1]) : 32;
  bdnn::bench::set_faiss_threads(1);
  const bdnn::Codes database = random_codes(bits, kDatabase, 1);
  const bdnn::Codes queries = random_codes(bits, kQueries, 2);
  bdnn::Random random(3);
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> database_labels(kDatabase);
  std::vector<std::int64_t> query_labels(kQueries);
  for (std::size_t q = 0; q < kQueries; ++q) {
    const std::size_t first = random.below(kDatabase);  // a stride that is prime to 60,000: no id comes twice
    for (std::size_t i = 0; i < kNeighbours; ++i) {
      ids.push_back(static_cast<std::int32_t>((first + i * 7919) % kDatabase));
    }
  }
  for (auto& label : database_labels) label = static_cast<std::int64_t>(random.below(10));
  for (auto& label : query_labels) label = static_cast<std::int64_t>(random.below(10));
  const auto neighbours = bdnn::Relevance::neighbours(ids, kNeighbours);
  const auto labels = bdnn::Relevance::labels(database_labels, query_labels);

  faiss::IndexBinaryFlat index(static_cast<int>(bits));
  index.add(static_cast<bdnn::bench::faiss_id>(kDatabase), database.data());
  std::vector<std::int32_t> faiss_distances(kPart * kDatabase);
  std::vector<bdnn::bench::faiss_id> faiss_ids(kPart * kDatabase);

  bdnn::Progress silent;
  bdnn::MetricsOptions options{.radii = {0, 1, 2, 3, 4}, .at = {1, 10, 100, 1000, 10000}, .curve = true, .threads = 1};
  const auto ours = [&](const bdnn::Relevance& relevance, bdnn::Ties ties) {
    return [&, ties] {
      options.ties = ties;
      bdnn::evaluate_codes(database, queries, relevance, options, silent);
    };
  };
  const auto faiss_search = [&](bool heap) {
    return [&, heap] {
      index.use_heap = heap;
      for (std::size_t q = 0; q < kQueries; q += kPart) {
        index.search(kPart, queries[q].data(), kDatabase, faiss_distances.data(), faiss_ids.data());
      }
    };
  };
  std::uint64_t sink = 0;
  const std::vector<std::string> names = {"bare distances and histogram",   "all metrics, neighbours, expected",
                                          "all metrics, neighbours, order", "all metrics, 10 labels, expected",
                                          "all metrics, 10 labels, order",  "Faiss, ranking only, by counting",
                                          "Faiss, ranking only, by a heap"};
  const auto times = bdnn::bench::best_times(
      kRounds, {[&] { sink += bare_loop(database, queries); }, ours(neighbours, bdnn::Ties::expected),
                ours(neighbours, bdnn::Ties::order), ours(labels, bdnn::Ties::expected),
                ours(labels, bdnn::Ties::order), faiss_search(false), faiss_search(true)});
  fmt::print("{}; {}\n", bdnn::bench::machine(), bdnn::bench::faiss_in_use());
  fmt::print("{} queries x {} codes of {} bits, one thread ({})\n", kQueries, kDatabase, bits, sink);
  for (std::size_t i = 0; i < names.size(); ++i) {
    fmt::print("{:34} {:8.4f} s  {:7.2f} times the bare loop; Faiss by counting takes {:6.2f} times as long\n",
               names[i], times[i], times[i] / times[0], times[5] / times[i]);
  }
}
