// The planner's choice beside both plans, over a grid of regimes, for each SIMD target that is named, or for the
// best: plan_bench [--target AVX2]... [CODES QUERIES]... One thread, so that CPU time, which other programs
// lengthen little, is what a search takes.
#include <fmt/format.h>

#include "bdnn/index.h"
#include "search_data.h"
#include "targets.h"
#include "timing.h"

namespace {

using bdnn::Codes;

constexpr std::size_t kBatch = 200;
constexpr std::size_t kSingles = 50;  // distinct queries that are asked one by one
constexpr double kLongEnough = 0.5;   // seconds that a regime is measured ...
constexpr int kLeastRounds = 3;       // ... in no fewer rounds than this ...
constexpr int kMostRounds = 7;        // ... and no more than this
constexpr double kTurn = 0.01;        // seconds of the slowest plan's turn
constexpr int kMostRuns = 10;
constexpr double kLimit = 1.3;      // of the planner's time over the better plan's
constexpr double kDoubtful = 1.15;  // what is above is measured again, all plans alike ...
constexpr int kMostRepeats = 10;    // ... so many times at most
constexpr std::size_t kWorstShown = 12;

struct Regime {
  double ratio;
  std::string line;
};
std::vector<Regime> regimes;

Codes slice(const Codes& codes, std::size_t from, std::size_t count) {
  const std::uint8_t* first = codes.data() + from * codes.bytes_per_code();
  return {codes.bits(), count, std::vector<std::uint8_t>(first, first + count * codes.bytes_per_code())};
}

// Every plan's best time, in turns of as many runs each: the fewer, the longer the slowest plan takes.
std::vector<double> times_of(const bdnn::bench::Rivals& plans) {
  const auto first = bdnn::bench::best_times(1, plans, bdnn::bench::cpu_now);
  const double slowest = *std::max_element(first.begin(), first.end());
  const int runs = std::clamp(static_cast<int>(kTurn / slowest), 1, kMostRuns);
  double turn = 0;
  for (const double time : first) turn += (runs + 1) * time;
  const int rounds = std::clamp(static_cast<int>(kLongEnough / turn), kLeastRounds, kMostRounds);
  return bdnn::bench::best_warm_times(rounds, runs, plans, bdnn::bench::cpu_now);
}

void regime(const std::string& name, const bdnn::Index& index, const std::vector<Codes>& calls,
            bdnn::SearchOptions options) {
  bdnn::Searcher searcher(1);
  bdnn::Results results;
  const auto ours = [&](bdnn::Plan plan) {
    return [&, plan] {
      options.plan = plan;
      for (const Codes& queries : calls) searcher.search(index, queries, options, results);
    };
  };
  const auto tables = index.bits() <= 16 ? bdnn::Plan::bucket : bdnn::Plan::mih;
  const bdnn::bench::Rivals plans = {ours(bdnn::Plan::scan), ours(tables), ours(bdnn::Plan::automatic)};
  auto times = times_of(plans);
  const auto ratio_of = [](const std::vector<double>& t) { return t[2] / std::min(t[0], t[1]); };
  for (int more = 0; more < kMostRepeats && ratio_of(times) > kDoubtful; ++more) {
    const auto again = times_of(plans);
    for (std::size_t i = 0; i < times.size(); ++i) times[i] = std::min(times[i], again[i]);
  }
  options.plan = bdnn::Plan::automatic;
  const std::size_t batch = calls.front().size();
  const auto expected = searcher.explain(index, batch, options);
  const double per_query = 1e6 / static_cast<double>(batch * calls.size());
  const double ratio = ratio_of(times);
  const auto line = fmt::format(
      "{:10} {:9} {:4} {:9} {:7} {:9.2f} {:9.2f} {:9.2f}  {:6} {:6.2f}   {:9.2f} {:9.2f}", name, index.size(),
      index.bits(), options.radius ? fmt::format("r {}", *options.radius) : fmt::format("k {}", options.k), batch,
      times[0] * per_query, times[1] * per_query, times[2] * per_query, bdnn::name_of(expected.plan), ratio,
      expected.scan_microseconds, expected.hash_table_microseconds);
  fmt::print("{}\n", line);
  std::fflush(stdout);
  regimes.push_back({ratio, line});
}

void database(const std::string& name, const Codes& codes, const Codes& queries) {
  const auto index = bdnn::Index::build(codes, {}, {.tables = bdnn::IndexOptions::Tables::always, .threads = 2});
  std::vector<Codes> singles;
  for (std::size_t i = 0; i < kSingles; ++i) singles.push_back(slice(queries, i, 1));
  for (const auto& calls : {singles, std::vector<Codes>{slice(queries, 0, kBatch)}}) {
    for (const std::size_t k : {1, 10, 100}) regime(name, index, calls, {.k = k});
    for (const std::size_t radius : {0, 2, 6}) regime(name, index, calls, {.radius = radius});
  }
}

void grid(const std::vector<std::string>& files) {
  constexpr auto kHeader =
      "codes              n bits  asked      batch      scan    tables   planner  choice  ratio   expected: scan, "
      "tables";
  fmt::print("\n{}: microseconds per query, one thread\n{}\n", bdnn::simd_target(), kHeader);
  regimes.clear();
  for (const std::size_t n : {20'000, 200'000, 1'000'000}) {
    for (const std::size_t bits : {16, 32, 64, 128}) {
      database("random", bdnn::bench::random_codes(bits, n, 1), bdnn::bench::random_codes(bits, kBatch, 2));
      database("clustered", bdnn::bench::clustered_codes(bits, n, n / 50, 0.05, 1, 2),
               bdnn::bench::clustered_codes(bits, kBatch, n / 50, 0.05, 1, 3));
    }
  }
  for (std::size_t i = 0; i + 1 < files.size(); i += 2) {
    database("learned", bdnn::load_codes(files[i]), bdnn::load_codes(files[i + 1]));
  }
  std::sort(regimes.begin(), regimes.end(), [](const Regime& a, const Regime& b) { return a.ratio > b.ratio; });
  fmt::print("\n{}: the worst of {} regimes:\n{}\n", bdnn::simd_target(), regimes.size(), kHeader);
  for (std::size_t i = 0; i < std::min(kWorstShown, regimes.size()); ++i) fmt::print("{}\n", regimes[i].line);
  const auto over = std::count_if(regimes.begin(), regimes.end(), [](const Regime& r) { return r.ratio > kLimit; });
  fmt::print("{} of {} regimes over {}; the worst ratio of the planner's time to the better plan's is {:.2f}\n", over,
             regimes.size(), kLimit, regimes.front().ratio);
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = bdnn::bench::arguments_of(argc, argv, {bdnn::simd_target()});
  fmt::print("{}\n", bdnn::bench::machine());
  for (const std::string& target : arguments.targets) {
    bdnn::force_simd_target(target);
    grid(arguments.rest);
  }
}
