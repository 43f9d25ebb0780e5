// The planner's choice beside both plans, over a grid of regimes: plan_bench [CODES QUERIES]... One thread.
#include <fmt/format.h>

#include "bdnn/index.h"
#include "search_data.h"
#include "timing.h"

namespace {

using bdnn::Codes;

double worst = 0;

Codes slice(const Codes& codes, std::size_t count) {
  const std::size_t n = std::min(count, codes.size());
  std::vector<std::uint8_t> bytes(codes.data(), codes.data() + n * codes.bytes_per_code());
  return {codes.bits(), n, std::move(bytes)};
}

void regime(const std::string& name, const bdnn::Index& index, const Codes& queries, bdnn::SearchOptions options) {
  bdnn::Searcher searcher(1);
  bdnn::Results results;
  const auto ours = [&](bdnn::Plan plan) {
    return [&, plan] {
      options.plan = plan;
      searcher.search(index, queries, options, results);
    };
  };
  const auto tables = index.bits() <= 16 ? bdnn::Plan::bucket : bdnn::Plan::mih;
  // Each after a turn of its own that is not timed: what another plan leaves in the caches is not its doing.
  std::vector<double> times;
  for (const bdnn::Plan plan : {bdnn::Plan::scan, tables, bdnn::Plan::automatic}) {
    ours(plan)();
    times.push_back(bdnn::bench::best_times(4, {ours(plan)}).front());
  }
  options.plan = bdnn::Plan::automatic;
  const auto expected = searcher.explain(index, queries.size(), options);
  const double per_query = 1e6 / static_cast<double>(queries.size());
  const double ratio = times[2] / std::min(times[0], times[1]);
  worst = std::max(worst, ratio);
  fmt::print("{:10} {:9} {:4} {:9} {:7} {:9.2f} {:9.2f} {:9.2f}  {:6} {:6.2f}   {:9.2f} {:9.2f}\n", name, index.size(),
             index.bits(), options.radius ? fmt::format("r {}", *options.radius) : fmt::format("k {}", options.k),
             queries.size(), times[0] * per_query, times[1] * per_query, times[2] * per_query,
             bdnn::name_of(expected.plan), ratio, expected.scan_microseconds, expected.table_microseconds);
}

void database(const std::string& name, const Codes& codes, const Codes& queries) {
  const auto index = bdnn::Index::build(codes, {}, {.tables = bdnn::IndexOptions::Tables::always, .threads = 2});
  for (const std::size_t batch : {1, 200}) {
    const Codes some = slice(queries, batch);
    for (const std::size_t k : {1, 10, 100}) regime(name, index, some, {.k = k});
    for (const std::size_t radius : {2, 6}) regime(name, index, some, {.radius = radius});
  }
}

}  // namespace

int main(int argc, char** argv) {
  fmt::print("microseconds per query, one thread\n");
  fmt::print(
      "codes              n bits  asked      batch      scan    tables   planner  choice  ratio   expected: scan, "
      "tables\n");
  for (const std::size_t n : {20'000, 1'000'000}) {
    for (const std::size_t bits : {16, 32, 64, 128}) {
      database("random", bdnn::bench::random_codes(bits, n, 1), bdnn::bench::random_codes(bits, 200, 2));
      database("clustered", bdnn::bench::clustered_codes(bits, n, n / 50, 0.05, 1, 2),
               bdnn::bench::clustered_codes(bits, 200, n / 50, 0.05, 1, 3));
    }
  }
  for (int i = 1; i + 1 < argc; i += 2) database("learned", bdnn::load_codes(argv[i]), bdnn::load_codes(argv[i + 1]));
  fmt::print("worst ratio of the planner's time to the better plan's: {:.2f}\n", worst);
}
