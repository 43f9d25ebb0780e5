#include <algorithm>
#include <variant>

#include "base/error.h"
#include "bdnn/scores.h"
#include "coding/code_scores.h"
#include "search/content.h"

namespace bdnn {
namespace {

// The code of an id; false where there is none.
bool fetch(const Codes& codes, std::uint64_t id, std::uint8_t* code) {
  if (id >= codes.size()) return false;
  std::copy_n(codes[id].data(), codes.bytes_per_code(), code);
  return true;
}

bool fetch(const Index& index, std::uint64_t id, std::uint8_t* code) {
  const auto& segments = index.content().segments;
  const CodeLayout layout(index.bits());
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const Segment& segment = segments[s];
    std::optional<std::size_t> row = segment.keys.find(id);
    if (segment.keys.names() && id >> 32 == s) row = static_cast<std::uint32_t>(id);
    if (!row || *row >= segment.size() || !segment.is_live(*row)) continue;
    deinterleave(layout, segment.codes.tiles, *row, code);
    return true;
  }
  return false;
}

}  // namespace

struct CodeRanking::State {
  CodeScores scores;
  std::variant<Codes, Index> codes;
  Vectors queries;

  State(const Model& model, RankBy by, std::variant<Codes, Index> of, const Vectors& vectors)
      : scores(model, by), codes(std::move(of)), queries(vectors) {
    const std::size_t bits = std::visit([](const auto& source) { return source.bits(); }, codes);
    if (bits != model.bits()) misuse("the codes have {} bits, the model's have {}", bits, model.bits());
    if (queries.dimension() != model.dimension()) {
      misuse("the queries have dimension {}, the model expects {}", queries.dimension(), model.dimension());
    }
  }
};

CodeRanking::CodeRanking(const Model& model, RankBy by, const Codes& codes, const Vectors& queries)
    : state_(std::make_unique<State>(model, by, codes, queries)) {}

CodeRanking::CodeRanking(const Model& model, RankBy by, const Index& index, const Vectors& queries)
    : state_(std::make_unique<State>(model, by, index, queries)) {}

CodeRanking::~CodeRanking() = default;

void CodeRanking::score(std::size_t query, std::span<const Neighbour> shortlist, double* scores) const {
  const Vectors& queries = state_->queries;
  if (query >= queries.size()) misuse("query {} is to be ranked, but there are {}", query, queries.size());
  // Norms of many codes at a time are one product.
  const std::size_t bytes = (state_->scores.bits() + 7) / 8;
  std::vector<std::uint8_t> codes(shortlist.size() * bytes);
  for (std::size_t i = 0; i < shortlist.size(); ++i) {
    const std::uint64_t id = shortlist[i].id;
    const bool found =
        std::visit([&](const auto& source) { return fetch(source, id, codes.data() + i * bytes); }, state_->codes);
    if (!found) misuse("there is no code to rank id {} by", id);
  }
  CodeScores::Scratch scratch;
  state_->scores.norms(codes.data(), shortlist.size(), scratch, scores);
  // Made here, not of all queries before: those of one take up to 16 KB.
  const LookupTables tables = state_->scores.tables(queries.slice(query, 1), query).front();
  for (std::size_t i = 0; i < shortlist.size(); ++i) scores[i] = tables.linear(codes.data() + i * bytes) + scores[i];
}

}  // namespace bdnn
