// Search by spherical Hamming distance beside search by Hamming distance, both by exhaustive scan, on one thread:
//     spherical_bench [CODES QUERIES]...
// Both are given the same 100 queries in one call, equally often. Files hold learned codes and their queries, such as
// those of the method sph.
#include <fmt/format.h>

#include <cstdio>

#include "bdnn/index.h"
#include "bdnn/search.h"
#include "bdnn/spherical.h"
#include "search_data.h"
#include "timing.h"

namespace {

using bdnn::Codes;

constexpr std::size_t kQueries = 100;

void compare(const std::string& name, const Codes& database, const Codes& queries) {
  const auto index = bdnn::Index::build(database, {}, {.tables = bdnn::IndexOptions::Tables::never});
  const bdnn::SphericalScan spherical(database, 1);
  bdnn::Searcher searcher(1);
  bdnn::SphericalSearcher spherical_searcher(1);
  bdnn::Results by_hamming;
  bdnn::RankedResults by_spherical;
  fmt::print("{:10} {:4} bits", name, database.bits());
  for (const std::size_t k : {10, 100}) {
    // CPU time: both have one thread, and other programs lengthen it little.
    const auto times = bdnn::bench::best_times(
        5,
        {[&] { searcher.search(index, queries, {.k = k, .plan = bdnn::Plan::scan}, by_hamming); },
         [&] { spherical_searcher.search(spherical, queries, k, by_spherical); }},
        bdnn::bench::cpu_now);
    const double rate = static_cast<double>(database.size() * queries.size()) / 1e9;
    fmt::print("   {:6.2f}    {:6.2f} ({:.2f})", rate / times[0], rate / times[1], times[1] / times[0]);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t kCodes = 1'000'000;
  fmt::print("{}\n", bdnn::bench::machine());
  fmt::print(
      "{} queries at once, billions of codes per second on one thread; in brackets: spherical's time over Hamming's\n",
      kQueries);
  fmt::print("                     k = 10: Hamming, spherical   k = 100: Hamming, spherical\n");
  for (const std::size_t bits : {32, 64}) {
    compare("random", bdnn::bench::random_codes(bits, kCodes, 1), bdnn::bench::random_codes(bits, kQueries, 2));
    compare("clustered", bdnn::bench::clustered_codes(bits, kCodes, 20'000, 0.05, 1, 2),
            bdnn::bench::clustered_codes(bits, kQueries, 20'000, 0.05, 1, 3));
  }
  for (int i = 1; i + 1 < argc; i += 2) {
    compare("learned", bdnn::load_codes(argv[i]), bdnn::bench::first_codes(bdnn::load_codes(argv[i + 1]), kQueries));
  }
}
