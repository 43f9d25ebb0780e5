// The scan beside the bare loops that it cannot beat, and beside Faiss, on one thread:
//     scan_bench [--target AVX2]... [CODES QUERIES]...
// All are given the same queries in one call, equally often. One part for each SIMD target; all that the machine has,
// where none is named. The single query is measured with the first.
#include <faiss/IndexBinaryFlat.h>
#include <fmt/format.h>

#include "bare_loops.h"
#include "bdnn/index.h"
#include "codes/interleaved.h"
#include "faiss_rival.h"
#include "search/content.h"
#include "search_data.h"
#include "targets.h"
#include "timing.h"

namespace {

using bdnn::Codes;
using bdnn::bench::faiss_id;

constexpr std::size_t kQueries = 100;
std::uint64_t sink = 0;

void batches(const std::string& name, const Codes& database, const Codes& queries) {
  const auto index = bdnn::Index::build(database, {}, {.tables = bdnn::IndexOptions::Tables::never});
  const std::size_t bytes = bdnn::CodeLayout(database.bits()).bytes(database.size());
  std::vector<std::uint64_t> words(queries.size() + 8);
  std::memcpy(words.data(), queries.data(), std::min(words.size() * 8, queries.size() * queries.bytes_per_code()));
  faiss::IndexBinaryFlat flat(static_cast<int>(database.bits()));
  flat.add(static_cast<faiss_id>(database.size()), database.data());
  std::vector<std::int32_t> distances(queries.size() * 100);
  std::vector<faiss_id> ids(distances.size());
  bdnn::Searcher searcher(1);
  bdnn::Results results;
  const auto ours = [&](std::size_t k) {
    return [&, k] { searcher.search(index, queries, {.k = k, .plan = bdnn::Plan::scan}, results); };
  };
  const auto faiss_search = [&](faiss_id k) {
    return
        [&, k] { flat.search(static_cast<faiss_id>(queries.size()), queries.data(), k, distances.data(), ids.data()); };
  };
  const std::uint8_t* tiles = index.content().segments.front().codes.tiles;  // the bare loop reads the same bytes
  const auto bare_popcounts = [&](std::size_t from) {
    sink += bdnn::bench::bare_popcounts(bdnn::simd_target(), tiles, bytes, words.data() + from, queries.size() - from);
  };
  bdnn::bench::Rivals rivals = {[&] { bare_popcounts(0); }, ours(10), ours(100), faiss_search(10), faiss_search(100)};
  if (bdnn::simd_target() == "AVX2" || bdnn::simd_target() == "SSSE3") {
    rivals.emplace_back([&] {
      const std::size_t whole = queries.size() / 32 * 32;
      sink += bdnn::bench::bare_lookup(bdnn::simd_target(), database.data(), database.size(), database.bytes_per_code(),
                                       queries.data(), whole);
      bare_popcounts(whole);
    });
  }
  // CPU time: all have one thread, and other programs lengthen it little.
  auto times = bdnn::bench::best_times(9, rivals, bdnn::bench::cpu_now);
  if (times.size() > 5) times[0] = std::min(times[0], times[5]);
  const double rate = static_cast<double>(database.size() * queries.size()) / 1e9;
  fmt::print(
      "{:10} {:4} bits {:6.2f} {:5} {:6.2f}  {:6.2f} ({:.2f})  {:6.2f} ({:.2f})  {:8.3f} ({:5.1f})  {:8.3f} "
      "({:5.1f})\n",
      name, database.bits(), static_cast<double>(bytes) / static_cast<double>(database.size()), flat.code_size,
      rate / times[0], rate / times[1], times[1] / times[0], rate / times[2], times[2] / times[0], rate / times[3],
      times[3] / times[1], rate / times[4], times[4] / times[2]);
  std::fflush(stdout);
}

void single(std::size_t bits, std::size_t bytes) {
  const std::size_t count = bytes / (bits / 8);
  const Codes database = bdnn::bench::random_codes(bits, count, 1);
  const Codes query = bdnn::bench::random_codes(bits, 1, 2);
  const auto index = bdnn::Index::build(database, {}, {.tables = bdnn::IndexOptions::Tables::never});
  faiss::IndexBinaryFlat flat(static_cast<int>(bits));
  flat.add(static_cast<faiss_id>(count), database.data());
  const std::uint8_t* tiles = index.content().segments.front().codes.tiles;
  std::vector<std::int32_t> distances(10);
  std::vector<faiss_id> ids(10);
  bdnn::Searcher one(1);
  bdnn::Searcher two(2);
  bdnn::Results results;
  const auto times = bdnn::bench::best_times(
      5, {[&] { sink += bdnn::bench::bare_read(tiles, bytes); }, [&] { one.search(index, query, {.k = 10}, results); },
          [&] { two.search(index, query, {.k = 10}, results); },
          [&] { flat.search(1, query.data(), 10, distances.data(), ids.data()); }});
  const double gigabytes = static_cast<double>(bytes) / 1e9;
  fmt::print("{:4} bits  {:6.2f}  {:6.2f} ({:.2f})  {:6.2f} ({:.2f})  {:6.2f} ({:.1f})\n", bits, gigabytes / times[0],
             gigabytes / times[1], times[1] / times[0], gigabytes / times[2], times[2] / times[0], gigabytes / times[3],
             times[3] / times[1]);
  std::fflush(stdout);
}

void compare_batches(const std::vector<std::string>& files) {
  fmt::print("\n{}: {} queries at once, billions of codes per second on one thread\n", bdnn::simd_target(), kQueries);
  fmt::print(
      "bare: the faster of a loop that counts bits and, with AVX2 and SSSE3, one that adds up tables for 32 queries at "
      "once\n");
  fmt::print("in brackets: our time over the bare loop's; Faiss's time over ours\n");
  fmt::print("                  bytes per code\n");
  fmt::print("                   ours Faiss   bare  ours, k = 10   ours, k = 100  Faiss, k = 10      Faiss, k = 100\n");
  constexpr std::size_t kCodes = 1'000'000;
  for (const std::size_t bits : {32, 64, 128, 256}) {
    batches("random", bdnn::bench::random_codes(bits, kCodes, 1), bdnn::bench::random_codes(bits, kQueries, 2));
    batches("clustered", bdnn::bench::clustered_codes(bits, kCodes, 20'000, 0.05, 1, 2),
            bdnn::bench::clustered_codes(bits, kQueries, 20'000, 0.05, 1, 3));
  }
  for (std::size_t i = 0; i + 1 < files.size(); i += 2) {
    batches("learned", bdnn::load_codes(files[i]), bdnn::bench::first_codes(bdnn::load_codes(files[i + 1]), kQueries));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto [targets, files] = bdnn::bench::arguments_of(argc, argv, bdnn::simd_targets());
  bdnn::bench::set_faiss_threads(1);
  fmt::print("{}; {}\n", bdnn::bench::machine(), bdnn::bench::faiss_in_use());
  for (const std::string& target : targets) {
    bdnn::force_simd_target(target);
    compare_batches(files);
  }
  bdnn::force_simd_target(targets.front());
  constexpr std::size_t kBytes = std::size_t{1} << 29;
  fmt::print(
      "\none query in 512 MB of codes, GB/s; in brackets: our time over the bare read's; Faiss's time over ours\n");
  fmt::print("            read  ours, 1 thread  2 threads     Faiss\n");
  for (const std::size_t bits : {32, 64, 128, 256}) single(bits, kBytes);
  fmt::print("({})\n", sink % 10);
}
