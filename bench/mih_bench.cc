// Search through tables beside the scan and beside Faiss: mih_bench [CODES QUERIES]. Queries are distinct and were not
// seen before; every time is one pass over all of them, on one thread.
#include <faiss/IndexBinaryFlat.h>
#include <faiss/IndexBinaryHash.h>
#include <faiss/impl/AuxIndexStructures.h>
#include <fmt/format.h>
#include <omp.h>

#include "bdnn/index.h"
#include "search_data.h"
#include "timing.h"

namespace {

using bdnn::Codes;
using faiss_id = faiss::IndexBinary::idx_t;

struct Regime {
  std::string name;
  Codes database;
  Codes queries;
  bdnn::SearchOptions options;
  int faiss_tables;  // of IndexBinaryMultiHash
  int faiss_flips;
};

Codes first(const Codes& codes, std::size_t count) {
  const std::size_t n = std::min(count, codes.size());
  std::vector<std::uint8_t> bytes(codes.data(), codes.data() + n * codes.bytes_per_code());
  return {codes.bits(), n, std::move(bytes)};
}

void run(const Regime& regime) {
  const auto& database = regime.database;
  const auto n = static_cast<faiss_id>(database.size());
  const double start = bdnn::bench::now();
  const auto index = bdnn::Index::build(database, {}, {.tables = bdnn::IndexOptions::Tables::always, .threads = 1});
  const double built = bdnn::bench::now() - start;
  faiss::IndexBinaryFlat flat(static_cast<int>(database.bits()));
  flat.add(n, database.data());
  faiss::IndexBinaryMultiHash hash(static_cast<int>(database.bits()), regime.faiss_tables,
                                   static_cast<int>(database.bits()) / regime.faiss_tables);
  hash.nflip = regime.faiss_flips;
  hash.add(n, database.data());

  const auto radius = regime.options.radius;
  const auto k = static_cast<faiss_id>(regime.options.k);
  bdnn::Searcher searcher(1);
  bdnn::Results results;
  const auto ours = [&](bdnn::Plan plan) {
    return [&, plan] {
      bdnn::SearchOptions options = regime.options;
      options.plan = plan;
      searcher.search(index, regime.queries, options, results);
    };
  };
  const auto faiss_search = [&](const faiss::IndexBinary& rival, const Codes& queries) {
    return [&] {
      const auto q = static_cast<faiss_id>(queries.size());
      if (radius) {
        faiss::RangeSearchResult found(queries.size());
        rival.range_search(q, queries.data(), static_cast<int>(*radius) + 1, &found);
      } else {
        std::vector<std::int32_t> distances(queries.size() * regime.options.k);
        std::vector<faiss_id> ids(distances.size());
        rival.search(q, queries.data(), k, distances.data(), ids.data());
      }
    };
  };
  const Codes few = first(regime.queries, 20);  // Faiss's flat index is slow
  const auto times =
      bdnn::bench::best_times(3, {ours(bdnn::Plan::scan), ours(bdnn::Plan::mih), ours(bdnn::Plan::automatic),
                                  faiss_search(flat, few), faiss_search(hash, regime.queries)});
  const double queries = static_cast<double>(regime.queries.size()) / 1e6;
  const double flat_time = times[3] / static_cast<double>(few.size()) * 1e6;
  fmt::print("{}: {} codes of {} bits, {} queries, {}; {} tables built in {:.2f} s\n", regime.name, database.size(),
             database.bits(), regime.queries.size(),
             radius ? fmt::format("radius {}", *radius) : fmt::format("k {}", k), index.info().tables, built);
  fmt::print("  our scan {:.2f} us   tables {:.2f} us ({:.1f} times as fast)   planner {:.2f} us\n", times[0] / queries,
             times[1] / queries, times[0] / times[1], times[2] / queries);
  fmt::print(
      "  Faiss flat {:.1f} us ({:.0f} times our tables)   Faiss multi-hash, {} tables, {} flips, not exact for k: "
      "{:.1f} us ({:.1f} times)\n",
      flat_time, flat_time / (times[1] / queries), regime.faiss_tables, regime.faiss_flips, times[4] / queries,
      times[4] / times[1]);
}

}  // namespace

int main(int argc, char** argv) {
  omp_set_num_threads(1);
  constexpr std::size_t kMillion = 1'000'000;
  run({"clustered",
       bdnn::bench::clustered_codes(64, kMillion, 20'000, 0.05, 1, 2),
       bdnn::bench::clustered_codes(64, 2000, 20'000, 0.05, 1, 3),
       {.k = 10},
       4,
       1});
  run({"random", bdnn::bench::random_codes(64, kMillion, 4), bdnn::bench::random_codes(64, 200, 5), {.k = 10}, 4, 1});
  run({"random",
       bdnn::bench::random_codes(32, 10 * kMillion, 6),
       bdnn::bench::random_codes(32, 2000, 7),
       {.radius = 2},
       2,
       1});
  if (argc == 3) {
    const Codes base = bdnn::load_codes(argv[1]);
    const Codes queries = first(bdnn::load_codes(argv[2]), 2000);
    run({argv[1], base, queries, {.k = 10}, static_cast<int>(base.bits() / 16), 1});
    run({argv[1], base, queries, {.radius = 2}, static_cast<int>(base.bits() / 16), 1});
  }
}
