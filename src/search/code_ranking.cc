#include "base/error.h"
#include "bdnn/reconstruction.h"
#include "hash/code_scores.h"

namespace bdnn {

struct CodeRanking::State {
  CodeScores scores;
  Codes codes;
  std::vector<ScoreTables> tables;
};

CodeRanking::CodeRanking(const Model& model, RankBy by, const Codes& codes, const Vectors& queries)
    : state_(new State{CodeScores(model, by), codes, {}}) {
  if (codes.bits() != model.bits()) misuse("the codes have {} bits, the model's have {}", codes.bits(), model.bits());
  state_->tables = state_->scores.tables(queries, 0);
}

CodeRanking::~CodeRanking() = default;

void CodeRanking::score(std::size_t query, std::span<const Neighbour> shortlist, double* scores) const {
  const Codes& codes = state_->codes;
  if (query >= state_->tables.size())
    misuse("query {} is to be ranked, but there are {}", query, state_->tables.size());
  // Norms of many codes at a time are one product.
  const std::size_t bytes = codes.bytes_per_code();
  std::vector<std::uint8_t> gathered(shortlist.size() * bytes);
  for (std::size_t i = 0; i < shortlist.size(); ++i) {
    const std::uint64_t id = shortlist[i].id;
    if (id >= codes.size()) misuse("there are {} codes to rank by, none for id {}", codes.size(), id);
    std::copy_n(codes[id].data(), bytes, gathered.data() + i * bytes);
  }
  CodeScores::Scratch scratch;
  state_->scores.norms(gathered.data(), shortlist.size(), scratch, scores);
  for (std::size_t i = 0; i < shortlist.size(); ++i) {
    scores[i] = state_->tables[query].linear(gathered.data() + i * bytes) + scores[i];
  }
}

}  // namespace bdnn
