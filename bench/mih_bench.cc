// Search through hash tables beside the scan and beside Faiss: mih_bench [--target AVX2]... [CODES QUERIES], with codes
// of its own where none are given. Queries are distinct and were not seen before; every time is the best of three
// passes over all of them, in one call, on one thread. Ours is measured with each SIMD target that is named, or with
// the best, and Faiss beside the first.
//
// `bare` visits the buckets that a search must visit and adds up the bits in which their codes differ from the query:
// no threshold, no neighbours, and no code compared with what was met before.
//
// Faiss's IndexBinaryMultiHash looks at a fixed number of flipped bits per table. It is given two numbers of tables:
// ours, and one per 16 bits; and the fewest flips that find all within a radius, or one flip where the k nearest are
// asked for, with what share of them it then finds.
#include <faiss/IndexBinaryFlat.h>
#include <faiss/IndexBinaryHash.h>
#include <faiss/impl/AuxIndexStructures.h>
#include <fmt/format.h>
#include <malloc.h>

#include <array>

#include "bare_loops.h"
#include "bdnn/index.h"
#include "faiss_rival.h"
#include "search/combinations.h"
#include "search/content.h"
#include "search/queries.h"
#include "search_data.h"
#include "targets.h"
#include "timing.h"

namespace {

using bdnn::Codes;
using bdnn::bench::faiss_id;

std::uint64_t sink = 0;

struct Regime {
  std::string name;
  Codes database;
  Codes queries;
  bdnn::SearchOptions options;
};

// Of the buckets of the first `steps` steps (search/mih.h).
std::uint64_t bare_probes(const bdnn::HashTables& tables, const std::uint8_t* query, std::size_t steps) {
  std::uint64_t sum = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    const bdnn::HashTable& table = tables.tables[step % tables.tables.size()];
    const std::size_t flips = step / tables.tables.size();
    if (flips > table.bits) continue;
    const std::uint32_t own = bdnn::substring(query, table.first_bit, table.bits);
    bdnn::Combinations combinations(table.bits, flips);
    std::array<std::uint32_t, 64> keys;
    while (const std::size_t count = combinations.take(keys.data(), keys.size())) {
      std::size_t present = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t key = keys[i] ^ own;
        keys[present] = key;
        present += table.has(key) ? 1 : 0;
      }
      for (std::size_t i = 0; i < present; ++i) __builtin_prefetch(table.starts + keys[i]);
      for (std::size_t i = 0; i < present; ++i) {
        for (std::size_t w = 0; w < tables.words(); ++w) {
          __builtin_prefetch(table.planes + (w * tables.count + table.starts[keys[i]]) * tables.word_bytes());
        }
      }
      for (std::size_t i = 0; i < present; ++i) {
        const std::size_t begin = table.starts[keys[i]];
        const std::size_t codes = table.starts[keys[i] + 1] - begin;
        for (std::size_t w = 0; w < tables.words(); ++w) {
          sum += bdnn::bench::bare_differing(table.planes + (w * tables.count + begin) * tables.word_bytes(), codes,
                                             query + w * tables.word_bytes(), tables.word_bytes());
        }
      }
    }
  }
  return sum;
}

std::size_t allocated() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// The share of our distances, which are exact, that Faiss found too: of a query, as many as the k-th nearest allows.
double share_found(const bdnn::Results& exact, const std::vector<std::int32_t>& distances, std::size_t k) {
  std::size_t found = 0;
  std::size_t all = 0;
  for (std::size_t q = 0; q < exact.size(); ++q) {
    const auto worst = static_cast<std::int32_t>(exact[q].back().distance);
    const auto* first = distances.data() + q * k;
    // Where it finds fewer than k, Faiss fills up with the largest number.
    found += static_cast<std::size_t>(std::count_if(first, first + k, [&](std::int32_t d) { return d <= worst; }));
    all += exact[q].size();
  }
  return static_cast<double>(found) / static_cast<double>(all);
}

void run(const Regime& regime, const std::vector<std::string>& targets) {
  const auto& database = regime.database;
  const auto n = static_cast<faiss_id>(database.size());
  const double per_code = 1 / static_cast<double>(database.size());
  double start = bdnn::bench::now();
  const auto index = bdnn::Index::build(database, {}, {.tables = bdnn::IndexOptions::Tables::always, .threads = 1});
  const double built = bdnn::bench::now() - start;
  faiss::IndexBinaryFlat flat(static_cast<int>(database.bits()));
  flat.add(n, database.data());

  const auto radius = regime.options.radius;
  const std::size_t k = regime.options.k;
  bdnn::Searcher searcher(1);
  bdnn::Results results;
  const auto ours = [&](bdnn::Plan plan) {
    return [&, plan] {
      bdnn::SearchOptions options = regime.options;
      options.plan = plan;
      searcher.search(index, regime.queries, options, results);
    };
  };
  std::vector<std::int32_t> distances(radius ? 0 : regime.queries.size() * k);
  std::vector<faiss_id> ids(distances.size());
  const auto faiss_search = [&](const faiss::IndexBinary& rival) {
    return [&] {
      const auto q = static_cast<faiss_id>(regime.queries.size());
      if (radius) {
        faiss::RangeSearchResult found(regime.queries.size());
        rival.range_search(q, regime.queries.data(), static_cast<int>(*radius) + 1, &found);
      } else {
        rival.search(q, regime.queries.data(), static_cast<faiss_id>(k), distances.data(), ids.data());
      }
    };
  };

  struct MultiHash {
    std::unique_ptr<faiss::IndexBinaryMultiHash> index;
    double built;
    double bytes;
  };
  std::vector<MultiHash> hashes;
  std::vector<int> table_counts = {static_cast<int>(database.bits() / 16)};
  const auto our_tables = static_cast<int>(index.info().tables);
  if (our_tables != table_counts.front()) table_counts.push_back(our_tables);
  for (const int tables : table_counts) {
    const std::size_t before = allocated();
    start = bdnn::bench::now();
    auto hash = std::make_unique<faiss::IndexBinaryMultiHash>(static_cast<int>(database.bits()), tables,
                                                              static_cast<int>(database.bits()) / tables);
    hash->nflip = radius ? static_cast<int>(*radius) / tables : 1;
    hash->add(n, database.data());
    const double seconds = bdnn::bench::now() - start;
    hashes.push_back({std::move(hash), seconds, static_cast<double>(allocated() - before) * per_code});
  }

  // How far a search must go: to the k-th nearest, and through all that are as near.
  ours(bdnn::Plan::mih)();
  std::vector<std::size_t> steps;
  for (std::size_t q = 0; q < results.size(); ++q) steps.push_back(1 + (radius ? *radius : results[q].back().distance));
  const auto& tables = index.content().segments.front().hash_tables;
  bdnn::PreparedQueries prepared;
  prepared.assign(regime.queries, 0, regime.queries.size());
  const auto bare = [&] {
    for (std::size_t q = 0; q < steps.size(); ++q) sink += bare_probes(tables, prepared[q], steps[q]);
  };
  bdnn::bench::Rivals rivals = {ours(bdnn::Plan::scan), ours(bdnn::Plan::mih), ours(bdnn::Plan::automatic), bare,
                                faiss_search(flat)};
  for (const auto& hash : hashes) rivals.push_back(faiss_search(*hash.index));
  const auto times = bdnn::bench::best_times(3, rivals, bdnn::bench::cpu_now);
  const double queries = static_cast<double>(regime.queries.size()) / 1e6;
  std::size_t found = 0;
  for (std::size_t q = 0; q < results.size(); ++q) found += results[q].size();
  fmt::print("{}: {} codes of {} bits, {} queries, {}: {:.1f} found on average\n", regime.name, database.size(),
             database.bits(), regime.queries.size(),
             radius ? fmt::format("radius {}", *radius) : fmt::format("k {}", k),
             static_cast<double>(found) / static_cast<double>(results.size()));
  const auto line = [&](const std::string& name, double bytes, std::size_t i, const std::string& more) {
    fmt::print("  {:<34} {:6.1f} bytes per code {:10.2f} us {:8.2f} times our tables{}\n", name, bytes,
               times[i] / queries, times[i] / times[1], more);
  };
  const double code = static_cast<double>(database.bytes_per_code());
  line("our scan", code, 0, "");
  line(fmt::format("our {} tables", our_tables), static_cast<double>(index.info().bytes) * per_code, 1,
       fmt::format("; built in {:.1f} s", built));
  line("our planner's choice", static_cast<double>(index.info().bytes) * per_code, 2, "");
  line("bare", static_cast<double>(index.info().bytes) * per_code, 3, "");
  for (std::size_t t = 1; t < targets.size(); ++t) {
    bdnn::force_simd_target(targets[t]);
    const auto own = bdnn::bench::best_times(3, {rivals[0], rivals[1]}, bdnn::bench::cpu_now);
    fmt::print("  {}: our scan {:.2f} us, our tables {:.2f} us\n", targets[t], own[0] / queries, own[1] / queries);
  }
  bdnn::force_simd_target(targets.front());
  line("Faiss flat", code, 4, "");
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    std::string more = fmt::format("; built in {:.1f} s", hashes[i].built);
    if (!radius) {
      rivals[1]();
      rivals[5 + i]();
      more += fmt::format("; finds {:.3f}", share_found(results, distances, k));
    }
    line(fmt::format("Faiss multi-hash, {} tables, {} flips", hashes[i].index->nhash, hashes[i].index->nflip),
         hashes[i].bytes, 5 + i, more);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = bdnn::bench::arguments_of(argc, argv, {bdnn::simd_target()});
  bdnn::force_simd_target(arguments.targets.front());
  bdnn::bench::set_faiss_threads(1);
  fmt::print("{}; {}\n", bdnn::bench::machine(), bdnn::bench::faiss_in_use());
  if (arguments.rest.size() == 2) {
    const Codes base = bdnn::load_codes(arguments.rest[0]);
    const Codes queries = bdnn::bench::first_codes(bdnn::load_codes(arguments.rest[1]), 2000);
    run({arguments.rest[0], base, queries, {.k = 10}}, arguments.targets);
    run({arguments.rest[0], base, queries, {.radius = 2}}, arguments.targets);
    fmt::print("({})\n", sink % 10);
    return 0;
  }
  constexpr std::size_t kMillion = 1'000'000;
  run({"clustered",
       bdnn::bench::clustered_codes(64, kMillion, 20'000, 0.05, 1, 2),
       bdnn::bench::clustered_codes(64, 2000, 20'000, 0.05, 1, 3),
       {.k = 10}},
      arguments.targets);
  run({"random", bdnn::bench::random_codes(64, kMillion, 4), bdnn::bench::random_codes(64, 200, 5), {.k = 10}},
      arguments.targets);
  run({"random",
       bdnn::bench::random_codes(32, 10 * kMillion, 6),
       bdnn::bench::random_codes(32, 2000, 7),
       {.radius = 2}},
      arguments.targets);
  fmt::print("({})\n", sink % 10);
}
