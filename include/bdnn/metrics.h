// Metrics of retrieval: average precision, precision and recall of a ranking by a distance of codes or by score.
// docs/evaluation.md derives the formulas.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bdnn/codes.h"
#include "bdnn/model.h"
#include "bdnn/progress.h"
#include "bdnn/rank_by.h"
#include "bdnn/vectors.h"

namespace bdnn {

// How codes at the same distance are ordered; without such a rule a ranking is not defined.
enum class Ties {
  expected,  // the mean over all orders
  order,     // by position in the database, as a stable sort gives
  best,      // relevant ones first (and the true nearest neighbour before all)
  worst,     // relevant ones last (and the true nearest neighbour after all)
};
inline constexpr Ties kAllTies[] = {Ties::expected, Ties::order, Ties::best, Ties::worst};
std::string_view name_of(Ties ties);
Ties ties_by_name(const std::string& name);  // an unknown name raises Error and lists the valid ones

// What is relevant to each query: a list of database positions, or all codes with the query's label.
struct Relevance {
  struct Neighbours {
    std::span<const std::int32_t> ids;  // query after query, per_query each, nearest first; not copied
    std::size_t per_query;
  };
  struct Labels {
    std::vector<std::int64_t> database;
    std::vector<std::int64_t> queries;
  };

  static Relevance neighbours(std::span<const std::int32_t> ids, std::size_t per_query) {
    return {Neighbours{ids, per_query}, {}};
  }
  // -1 means no label: relevant to nothing.
  static Relevance labels(std::vector<std::int64_t> database, std::vector<std::int64_t> queries) {
    constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
    std::replace(database.begin(), database.end(), std::int64_t{-1}, kNone);
    std::replace(queries.begin(), queries.end(), std::int64_t{-1}, kNone + 1);
    return {Labels{std::move(database), std::move(queries)}, {}};
  }

  std::variant<Neighbours, Labels> of;
  std::vector<std::int64_t> self;  // empty, or for each query the position to leave out of its ranking (-1: none)
};

struct MetricsOptions {
  Ties ties = Ties::expected;
  std::size_t cutoff = 0;                // average precision over the first R returned; 0: over all
  std::vector<std::size_t> radii = {2};  // precision and recall within these distances ...
  std::vector<std::size_t> at = {};      // ... and among the first k, for each of these k
  bool curve = false;                    // the same for every radius from 0 to the number of bits
  int threads = 0;                       // 0: one per core. Results do not depend on it
};

// Means over all queries. A query without anything relevant counts as 0 in every precision and recall; multiply by
// queries / (queries - queries_without_relevant) for the mean over the others.
struct MetricsResult {
  std::size_t queries = 0;
  std::size_t database = 0;
  std::size_t bits = 0;
  Ties ties = Ties::expected;
  std::size_t cutoff = 0;
  std::size_t queries_without_relevant = 0;

  // The sum of the precisions at the ranks of the relevant codes, divided by the number of all relevant codes whatever
  // the cutoff.
  double mean_average_precision = 0;
  // The same with the trapezoidal rule under the precision-recall curve: the mean of the precision at the rank and just
  // before it (before the first rank: 1). Some authors report this one.
  double mean_average_precision_trapezoid = 0;

  struct AtRadius {
    std::size_t radius = 0;
    double precision = 0;  // 0 for a query that finds nothing
    double recall = 0;
    double empty = 0;      // share of queries that find nothing
    double looked_at = 0;  // number of codes within the radius
  };
  struct AtRank {
    std::size_t k = 0;
    double precision = 0;
    double recall = 0;
    std::optional<double> nearest = {};  // with lists of neighbours: how often the true nearest is in the first k
  };
  std::vector<AtRadius> radii;
  std::vector<AtRank> ranks;
  std::vector<AtRadius> curve;
};

// All results under their names in docs/evaluation.md ("mAP", "precision@r2", "recall@100"); names are unique.
using NamedValues = std::vector<std::pair<std::string, double>>;
NamedValues values_of(const MetricsResult& result);

// Ranks the database for every query, in one pass over the codes and without sorting. `by` is a distance of codes:
// Hamming's or the spherical one, to which radii do not apply. Inputs that do not fit together raise Error.
MetricsResult evaluate_codes(const Codes& database, const Codes& queries, const Relevance& relevance,
                             const MetricsOptions& options, Progress& progress, RankBy by = RankBy::hamming);

// The same for a ranking by asymmetric distance or reconstruction, whose queries are vectors. Radii do not apply, and
// Ties::order raises Error.
MetricsResult evaluate_scores(const Model& model, RankBy by, const Codes& database, const Vectors& queries,
                              const Relevance& relevance, const MetricsOptions& options, Progress& progress);

}  // namespace bdnn
