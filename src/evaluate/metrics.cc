#include "bdnn/metrics.h"

#include <algorithm>
#include <limits>

#include "base/blocks.h"
#include "base/error.h"
#include "base/names.h"
#include "base/threads.h"
#include "coding/codes_match.h"
#include "evaluate/average_precision.h"
#include "evaluate/rankings.h"
#include "evaluate/score_rankings.h"
#include "evaluate/spherical_rankings.h"

namespace bdnn {
namespace {

constexpr std::string_view kTiesNames[] = {"expected", "order", "best", "worst"};
static_assert(std::size(kTiesNames) == std::size(kAllTies));

void check_sizes(std::size_t database, std::size_t queries) {
  if (queries == 0) misuse("there are no queries; give at least 1");
  if (database == 0) misuse("the database of codes is empty; give at least 1 code");
  if (database > std::numeric_limits<std::uint32_t>::max()) {
    misuse("the database has {} codes; at most {} can be evaluated", database,
           std::numeric_limits<std::uint32_t>::max());
  }
}

void check_codes(const Codes& database, const Codes& queries) {
  check_sizes(database.size(), queries.size());
  check_queries_match(database.bits(), database.origin(), queries);
}

void check_self(const Relevance& relevance, std::size_t database, std::size_t queries) {
  if (!relevance.self.empty() && relevance.self.size() != queries) {
    misuse("the codes to leave out are given for {} queries, but there are {}; give them for all or for none",
           relevance.self.size(), queries);
  }
  for (std::size_t i = 0; i < relevance.self.size(); ++i) {
    const std::int64_t id = relevance.self[i];
    if (id < -1 || (id >= 0 && static_cast<std::size_t>(id) >= database)) {
      misuse("query {} leaves out code {}, but the database has codes 0 to {}; -1 leaves out none", i, id,
             database - 1);
    }
  }
}

void check(const Relevance::Neighbours& lists, const Relevance& relevance, std::size_t database, std::size_t queries) {
  if (lists.per_query == 0) misuse("the lists of neighbours have 0 entries per query; give at least 1");
  if (lists.ids.size() != queries * lists.per_query) {
    misuse("{} neighbours were given for {} queries of {} each; give {}", lists.ids.size(), queries, lists.per_query,
           queries * lists.per_query);
  }
  std::vector<std::size_t> last_query(database, queries);  // which last listed a code
  for (std::size_t i = 0; i < lists.ids.size(); ++i) {
    const std::size_t query = i / lists.per_query;
    const std::int32_t id = lists.ids[i];
    if (id < 0 || static_cast<std::size_t>(id) >= database) {
      misuse("neighbour {} of query {} is code {}, but the database has codes 0 to {}", i % lists.per_query, query, id,
             database - 1);
    }
    if (!relevance.self.empty() && relevance.self[query] == id) {
      misuse("query {} leaves out code {}, which is among its neighbours; remove it from the list", query, id);
    }
    std::size_t& last = last_query[static_cast<std::size_t>(id)];
    if (last == query) misuse("code {} is twice among the neighbours of query {}", id, query);
    last = query;
  }
}

void check(const Relevance::Labels& labels, std::size_t database, std::size_t queries) {
  if (labels.database.size() != database) {
    misuse("{} labels were given for a database of {} codes; give one label per code", labels.database.size(),
           database);
  }
  if (labels.queries.size() != queries) {
    misuse("{} labels were given for {} queries; give one label per query", labels.queries.size(), queries);
  }
}

void check_ranks(const MetricsOptions& options, const Relevance& relevance, std::size_t database) {
  const bool leaves_out = std::any_of(relevance.self.begin(), relevance.self.end(), [](auto id) { return id >= 0; });
  const std::size_t ranked = database - (leaves_out ? 1 : 0);
  for (const std::size_t k : options.at) {
    if (k == 0) misuse("precision among the first 0 is undefined; ask for at least the first 1");
    if (k > ranked) misuse("precision among the first {} is not possible: only {} codes are ranked", k, ranked);
  }
}

// A result that holds sums over queries in place of their means.
MetricsResult zeros(const MetricsOptions& options, std::size_t bits, bool nearest) {
  MetricsResult sums;
  for (const std::size_t radius : options.radii) sums.radii.push_back({.radius = radius});
  for (const std::size_t k : options.at) {
    sums.ranks.push_back({.k = k, .nearest = nearest ? std::optional<double>(0) : std::nullopt});
  }
  for (std::size_t radius = 0; options.curve && radius <= bits; ++radius) sums.curve.push_back({.radius = radius});
  return sums;
}

// Calls what(a, b) for every pair of sums of the two.
template <class What>
void for_each_sum(MetricsResult& a, const MetricsResult& b, const What& what) {
  what(a.mean_average_precision, b.mean_average_precision);
  what(a.mean_average_precision_trapezoid, b.mean_average_precision_trapezoid);
  for (const auto member : {&MetricsResult::radii, &MetricsResult::curve}) {
    for (std::size_t i = 0; i < (a.*member).size(); ++i) {
      auto& x = (a.*member)[i];
      const auto& y = (b.*member)[i];
      what(x.precision, y.precision);
      what(x.recall, y.recall);
      what(x.empty, y.empty);
      what(x.looked_at, y.looked_at);
    }
  }
  for (std::size_t i = 0; i < a.ranks.size(); ++i) {
    what(a.ranks[i].precision, b.ranks[i].precision);
    what(a.ranks[i].recall, b.ranks[i].recall);
    if (a.ranks[i].nearest) what(*a.ranks[i].nearest, *b.ranks[i].nearest);
  }
}

// Sums over queries, as a tree adds them up.
struct QuerySums {
  MetricsResult of;

  QuerySums& operator+=(const QuerySums& other) {
    for_each_sum(of, other.of, [](double& a, double b) { a += b; });
    of.queries_without_relevant += other.of.queries_without_relevant;
    return *this;
  }
};

double share(double part, std::size_t whole) { return whole == 0 ? 0 : part / static_cast<double>(whole); }

void add(const TieLevel& within, std::size_t relevant, MetricsResult::AtRadius& sums) {
  const auto found = static_cast<double>(within.relevant);
  sums.precision += share(found, within.size);
  sums.recall += share(found, relevant);
  sums.empty += within.size == 0 ? 1 : 0;
  sums.looked_at += static_cast<double>(within.size);
}

// Adds the measures of one query.
void add(const TieRanking& ranking, Ties ties, std::size_t cutoff, const HarmonicNumbers& harmonic,
         std::vector<TieLevel>& within, MetricsResult& sums) {
  const AveragePrecision precision = average_precision(ranking, ties, cutoff, harmonic);
  sums.mean_average_precision += precision.standard;
  sums.mean_average_precision_trapezoid += precision.trapezoid;
  sums.queries_without_relevant += ranking.relevant == 0 ? 1 : 0;
  for (auto& at : sums.ranks) {
    const double found = relevant_among_first(ranking, ties, at.k);
    at.precision += found / static_cast<double>(at.k);
    at.recall += share(found, ranking.relevant);
    if (at.nearest) *at.nearest += nearest_among_first(ranking, ties, at.k);
  }
  within = ranking.levels;
  for (std::size_t d = 1; d < within.size(); ++d) {
    within[d].size += within[d - 1].size;
    within[d].relevant += within[d - 1].relevant;
  }
  for (auto& at : sums.radii) add(within[std::min(at.radius, within.size() - 1)], ranking.relevant, at);
  for (auto& at : sums.curve) add(within[at.radius], ranking.relevant, at);
}

void check_relevance(const Relevance& relevance, const MetricsOptions& options, std::size_t database,
                     std::size_t queries) {
  check_self(relevance, database, queries);
  if (const auto* lists = std::get_if<Relevance::Neighbours>(&relevance.of))
    check(*lists, relevance, database, queries);
  if (const auto* labels = std::get_if<Relevance::Labels>(&relevance.of)) check(*labels, database, queries);
  check_ranks(options, relevance, database);
}

// For rankings in which the codes within a radius do not come first.
MetricsOptions without_radii(MetricsOptions options) {
  options.radii.clear();
  options.curve = false;
  return options;
}

// The means over the rankings of all queries, whatever they are rankings by.
template <class Rankings>
MetricsResult mean_over(const Rankings& rankings, const Codes& database, std::size_t queries,
                        const Relevance& relevance, const MetricsOptions& options, Threads& threads,
                        Progress& progress) {
  std::size_t some_relevant = 0;
  while (some_relevant < queries && rankings.relevant(some_relevant) == 0) ++some_relevant;
  if (some_relevant == queries) {
    misuse("none of the {} queries has its label in the database of {} codes; are these the labels of these codes?",
           queries, database.size());
  }

  const std::size_t cutoff = options.cutoff == 0 ? database.size() : std::min(options.cutoff, database.size());
  const HarmonicNumbers harmonic(options.ties == Ties::order ? 0 : cutoff);
  const bool lists = std::holds_alternative<Relevance::Neighbours>(relevance.of);
  const QuerySums zero{zeros(options, database.bits(), lists)};
  struct Worker {
    typename Rankings::Scratch scratch;
    std::vector<TieLevel> within;
    QuerySums sums;
  };
  std::vector<Worker> workers(static_cast<std::size_t>(threads.count()));
  const auto range_of = [&](std::size_t block) {
    const std::size_t first = block * Rankings::kQueriesPerBlock;
    return Range{first, std::min(Rankings::kQueriesPerBlock, queries - first)};
  };
  TreeSum<QuerySums> sums(zero);
  threads.in_order((queries + Rankings::kQueriesPerBlock - 1) / Rankings::kQueriesPerBlock,
                   [&](std::size_t block, int index) {
                     Worker& worker = workers[static_cast<std::size_t>(index)];
                     worker.sums = zero;
                     rankings.for_each(range_of(block), worker.scratch, [&](std::size_t, const TieRanking& ranking) {
                       add(ranking, options.ties, cutoff, harmonic, worker.within, worker.sums.of);
                     });
                   },
                   [&](std::size_t block, int index) {
                     sums.add([&](QuerySums& sum) { sum = workers[static_cast<std::size_t>(index)].sums; });
                     progress.update("queries", range_of(block).first + range_of(block).count, queries);
                   });

  MetricsResult result = sums.total()->of;
  const auto count = static_cast<double>(queries);
  for_each_sum(result, zero.of, [&](double& a, double) { a /= count; });
  result.queries = queries;
  result.database = database.size();
  result.bits = database.bits();
  result.ties = options.ties;
  result.cutoff = options.cutoff;
  return result;
}

}  // namespace

std::string_view name_of(Ties ties) { return kTiesNames[static_cast<std::size_t>(ties)]; }

Ties ties_by_name(const std::string& name) { return by_name(kAllTies, name, "rule for ties"); }

NamedValues values_of(const MetricsResult& result) {
  NamedValues values = {{"mAP", result.mean_average_precision},
                        {"mAP_trapezoid", result.mean_average_precision_trapezoid}};
  const auto add_once = [&](std::string name, double value) {  // a radius or rank may be given twice
    const auto same = [&](const auto& known) { return known.first == name; };
    if (std::none_of(values.begin(), values.end(), same)) values.emplace_back(std::move(name), value);
  };
  for (const auto& at : result.radii) {
    add_once(fmt::format("precision@r{}", at.radius), at.precision);
    add_once(fmt::format("recall@r{}", at.radius), at.recall);
    add_once(fmt::format("empty@r{}", at.radius), at.empty);
    add_once(fmt::format("looked_at@r{}", at.radius), at.looked_at);
  }
  for (const auto& at : result.ranks) {
    add_once(fmt::format("precision@{}", at.k), at.precision);
    add_once(fmt::format("recall@{}", at.k), at.recall);
    if (at.nearest) add_once(fmt::format("nearest@{}", at.k), *at.nearest);
  }
  return values;
}

MetricsResult evaluate_codes(const Codes& database, const Codes& queries, const Relevance& relevance,
                             const MetricsOptions& options, Progress& progress, RankBy by) {
  if (!compares_codes(by)) misuse("a ranking by {} needs vectors as queries; use evaluate_scores()", name_of(by));
  check_codes(database, queries);
  check_relevance(relevance, options, database.size(), queries.size());
  Threads threads(options.threads, &progress);
  if (by == RankBy::spherical) {
    const SphericalRankings rankings(database, queries, relevance, options.ties);
    return mean_over(rankings, database, queries.size(), relevance, without_radii(options), threads, progress);
  }
  const Rankings rankings(database, queries, relevance, options.ties);
  return mean_over(rankings, database, queries.size(), relevance, options, threads, progress);
}

MetricsResult evaluate_scores(const Model& model, RankBy by, const Codes& database, const Vectors& queries,
                              const Relevance& relevance, const MetricsOptions& options, Progress& progress) {
  check_sizes(database.size(), queries.size());
  check_codes_match(model, database.bits(), database.origin());
  if (options.ties == Ties::order)
    misuse("codes with equal scores cannot be ordered by their position in the database");
  check_relevance(relevance, options, database.size(), queries.size());
  Threads threads(options.threads, &progress);
  const CodeScores scores(model, by);
  const ScoreRankings rankings(scores, database, queries, relevance, threads);
  return mean_over(rankings, database, queries.size(), relevance, without_radii(options), threads, progress);
}

}  // namespace bdnn
