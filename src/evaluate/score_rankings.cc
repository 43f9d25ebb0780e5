#include "evaluate/score_rankings.h"

#include <algorithm>

namespace bdnn {

ScoreRankings::ScoreRankings(const CodeScores& scores, const Codes& database, const Vectors& queries,
                             const Relevance& relevance, Threads& threads)
    : scores_(scores), database_(database), queries_(queries), relevance_(relevance), norms_(database.size()) {
  threads.for_each(blocks_of(database.size()), [&](std::size_t block, int) {
    const Range range = block_range(block, database.size());
    CodeScores::Scratch scratch;
    scores.norms(database[range.first].data(), range.count, scratch, norms_.data() + range.first);
  });
}

std::size_t ScoreRankings::relevant(std::size_t query) const {
  if (const auto* lists = std::get_if<Relevance::Neighbours>(&relevance_.of)) return lists->per_query;
  const auto& labels = std::get<Relevance::Labels>(relevance_.of);
  const std::int64_t label = labels.queries[query];
  const std::int64_t left_out = self(query);
  const auto same = std::count(labels.database.begin(), labels.database.end(), label);
  const bool one_less = left_out >= 0 && labels.database[static_cast<std::size_t>(left_out)] == label;
  return static_cast<std::size_t>(same) - (one_less ? 1 : 0);
}

void ScoreRankings::for_each(Range queries, Scratch& scratch,
                             const std::function<void(std::size_t, const TieRanking&)>& take) const {
  std::vector<LookupTables> tables;
  CodeScores::Scratch tables_scratch;
  scores_.tables(queries_.slice(queries.first, queries.count), queries.first, tables_scratch, tables);
  for (std::size_t i = 0; i < queries.count; ++i) {
    rank(queries.first + i, tables[i], scratch);
    take(queries.first + i, scratch.ranking);
  }
}

void ScoreRankings::rank(std::size_t query, const LookupTables& tables, Scratch& scratch) const {
  const std::size_t n = database_.size();
  scratch.scores.resize(n);
  for (std::size_t i = 0; i < n; ++i) scratch.scores[i] = tables.linear(database_[i].data()) + norms_[i];
  scratch.is_relevant.assign(n, 0);
  const auto* lists = std::get_if<Relevance::Neighbours>(&relevance_.of);
  if (lists) {
    for (const std::int32_t id : lists->ids.subspan(query * lists->per_query, lists->per_query)) {
      scratch.is_relevant[static_cast<std::size_t>(id)] = 1;
    }
  } else {
    const auto& labels = std::get<Relevance::Labels>(relevance_.of);
    for (std::size_t i = 0; i < n; ++i) scratch.is_relevant[i] = labels.database[i] == labels.queries[query] ? 1 : 0;
  }
  const std::int64_t left_out = self(query);
  if (left_out >= 0) scratch.is_relevant[static_cast<std::size_t>(left_out)] = 0;

  std::vector<double>& relevant = scratch.relevant;
  relevant.clear();
  for (std::size_t i = 0; i < n; ++i) {
    if (scratch.is_relevant[i] != 0) relevant.push_back(scratch.scores[i]);
  }
  TieRanking& ranking = scratch.ranking;
  ranking.relevant = relevant.size();
  std::sort(relevant.begin(), relevant.end());
  relevant.erase(std::unique(relevant.begin(), relevant.end()), relevant.end());
  // Levels 1, 3, 5, ... score as some relevant code; 0, 2, 4, ... lie before, between and after those.
  ranking.levels.assign(2 * relevant.size() + 1, {});
  const auto level_of = [&](double score) {
    const auto at = std::lower_bound(relevant.begin(), relevant.end(), score);
    const auto place = static_cast<std::size_t>(at - relevant.begin());
    return 2 * place + (at != relevant.end() && *at == score ? 1 : 0);
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (static_cast<std::int64_t>(i) == left_out) continue;
    TieLevel& level = ranking.levels[level_of(scratch.scores[i])];
    ++level.size;
    level.relevant += scratch.is_relevant[i];
  }
  ranking.nearest.reset();
  if (lists) {
    const auto nearest = static_cast<std::size_t>(lists->ids[query * lists->per_query]);
    ranking.nearest = {level_of(scratch.scores[nearest]), 0};
  }
}

}  // namespace bdnn
