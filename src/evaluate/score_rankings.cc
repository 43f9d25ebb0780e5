#include "evaluate/score_rankings.h"

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
  std::vector<std::uint8_t> marks;
  return mark_relevant(relevance_, query, database_.size(), marks);
}

void ScoreRankings::for_each(Range queries, Scratch& scratch,
                             const std::function<void(std::size_t, const TieRanking&)>& take) const {
  std::vector<LookupTables> tables;
  CodeScores::Scratch lookup_scratch;
  scores_.lookup_tables(queries_.slice(queries.first, queries.count), queries.first, lookup_scratch, tables);
  for (std::size_t i = 0; i < queries.count; ++i) {
    rank(queries.first + i, tables[i], scratch);
    take(queries.first + i, scratch.ranking);
  }
}

void ScoreRankings::rank(std::size_t query, const LookupTables& tables, Scratch& scratch) const {
  const std::size_t n = database_.size();
  scratch.scores.resize(n);
  for (std::size_t i = 0; i < n; ++i) scratch.scores[i] = tables.linear(database_[i].data()) + norms_[i];
  TieRanking& ranking = scratch.ranking;
  ranking.relevant = mark_relevant(relevance_, query, n, scratch.is_relevant);
  scratch.levels.assign(scratch.is_relevant, [&](std::size_t i) { return scratch.scores[i]; });
  ranking.levels.assign(scratch.levels.count(), {});
  const std::int64_t left_out = left_out_of(relevance_, query);
  for (std::size_t i = 0; i < n; ++i) {
    if (static_cast<std::int64_t>(i) == left_out) continue;
    TieLevel& level = ranking.levels[scratch.levels.of(scratch.scores[i])];
    ++level.size;
    level.relevant += scratch.is_relevant[i];
  }
  ranking.nearest.reset();
  if (const auto* lists = std::get_if<Relevance::Neighbours>(&relevance_.of)) {
    const auto nearest = static_cast<std::size_t>(lists->ids[query * lists->per_query]);
    ranking.nearest = {scratch.levels.of(scratch.scores[nearest]), 0};
  }
}

}  // namespace bdnn
