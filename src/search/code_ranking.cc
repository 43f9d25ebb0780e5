#include "base/error.h"
#include "coding/codes_match.h"
#include "search/code_scorer.h"
#include "search/stored_codes.h"

namespace bdnn {

void check_index_matches(const Model& model, const Index& index) {
  check_codes_match(model, index.bits(), index.info().origin);
}

CodeScorer::CodeScorer(const Model& model, RankBy by)
    : state_(std::make_shared<const State>(
          State{by, CodeScores(model, by), HashEncoder(model), bdnn::fingerprint(model)})) {}

RankBy CodeScorer::by() const { return state().by; }

struct CodeRanking::State {
  CodeScorer scorer;
  StoredCodes codes;
  Vectors queries;

  State(const CodeScorer& by, StoredCodes of, const Vectors& vectors)
      : scorer(by), codes(std::move(of)), queries(vectors) {
    const auto& model = scorer.state();
    check_codes_match(model.encoder.bits(), model.fingerprint, codes.bits(), codes.origin());
    if (queries.dimension() != model.encoder.dimension()) {
      misuse("the queries have dimension {}, the model expects {}", queries.dimension(), model.encoder.dimension());
    }
  }
};

CodeRanking::CodeRanking(const CodeScorer& scorer, const Codes& codes, const Vectors& queries)
    : state_(std::make_unique<State>(scorer, StoredCodes(codes), queries)) {}

CodeRanking::CodeRanking(const CodeScorer& scorer, const Index& index, const Vectors& queries)
    : state_(std::make_unique<State>(scorer, StoredCodes(index), queries)) {}

CodeRanking::CodeRanking(const Model& model, RankBy by, const Codes& codes, const Vectors& queries)
    : CodeRanking(CodeScorer(model, by), codes, queries) {}

CodeRanking::CodeRanking(const Model& model, RankBy by, const Index& index, const Vectors& queries)
    : CodeRanking(CodeScorer(model, by), index, queries) {}

CodeRanking::~CodeRanking() = default;

void CodeRanking::score(std::size_t query, std::span<const Neighbour> shortlist, double* scores) const {
  const Vectors& queries = state_->queries;
  if (query >= queries.size()) misuse("query {} is out of range; there are {} queries", query, queries.size());
  struct Scratch {
    std::vector<std::uint8_t> codes;
    std::vector<LookupTables> lookup_tables;
    CodeScores::Scratch scores;
  };
  thread_local Scratch scratch;  // a ranking is shared by threads, and must not allocate for every shortlist
  const CodeScores& model = state_->scorer.state().scores;
  const std::size_t bytes = bytes_for_bits(model.bits());
  auto& codes = scratch.codes;
  codes.resize(shortlist.size() * bytes);
  for (std::size_t i = 0; i < shortlist.size(); ++i) {
    const std::uint64_t id = shortlist[i].id;
    if (!state_->codes.fetch(id, codes.data() + i * bytes)) misuse("there is no code to rank id {} by", id);
  }
  // Norms of many codes at a time are one product.
  model.norms(codes.data(), shortlist.size(), scratch.scores, scores);
  // Made here, not of all queries before: those of one take up to 16 KB.
  model.lookup_tables(queries.slice(query, 1), query, scratch.scores, scratch.lookup_tables);
  const LookupTables& tables = scratch.lookup_tables.front();
  for (std::size_t i = 0; i < shortlist.size(); ++i) scores[i] = tables.linear(codes.data() + i * bytes) + scores[i];
}

}  // namespace bdnn
