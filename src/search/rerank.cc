#include "bdnn/rerank.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/threads.h"
#include "data/mapped_vectors.h"
#include "search/content.h"

namespace bdnn {
namespace {

// Sums in eight places, in the same order on every machine.
template <class T>
double square_distance(const std::byte* vector, const float* query, std::size_t dimension) {
  constexpr std::size_t kPlaces = 8;
  std::array<double, kPlaces> sums{};
  std::array<T, kPlaces> values;
  const auto add = [&](std::size_t at, std::size_t count) {
    std::memcpy(values.data(), vector + at * sizeof(T), count * sizeof(T));
    for (std::size_t i = 0; i < count; ++i) {
      const double difference = static_cast<double>(values[i]) - static_cast<double>(query[at + i]);
      sums[i] += difference * difference;
    }
  };
  std::size_t at = 0;
  for (; at + kPlaces <= dimension; at += kPlaces) add(at, kPlaces);
  if (at < dimension) add(at, dimension - at);
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace

struct VectorRanking::State {
  State(MappedVectors originals, const Vectors& of_queries);
  void take_keys(const Index& index, const IndexKeys& keys);

  MappedVectors vectors;
  std::vector<float> queries;
  std::size_t query_count = 0;
  std::optional<std::unordered_map<std::uint64_t, std::uint64_t>> rows = {};  // vector of an id; none: the id itself

  // At least vectors.shape().count if there is none.
  std::uint64_t row_of(std::uint64_t id) const {
    if (!rows) return id;
    const auto row = rows->find(id);
    return row == rows->end() ? vectors.shape().count : row->second;
  }
};

VectorRanking::State::State(MappedVectors originals, const Vectors& of_queries)
    : vectors(std::move(originals)), query_count(of_queries.size()) {
  const std::string& path = vectors.path();
  const Shape& shape = vectors.shape();
  if (shape.element != Element::f32 && shape.element != Element::u8) {
    misuse("{}: holds {} values; vectors to rank by must be f32 or u8; convert them first", path,
           name_of(shape.element));
  }
  if (shape.dimension != of_queries.dimension()) {
    misuse("{}: has vectors of dimension {}, the queries have {}", path, shape.dimension, of_queries.dimension());
  }
  queries.resize(of_queries.size() * of_queries.dimension());
  const float* values = of_queries.floats(0, of_queries.size(), queries.data());
  if (values != queries.data() && !queries.empty()) {
    std::memcpy(queries.data(), values, queries.size() * sizeof(float));
  }
}

void VectorRanking::State::take_keys(const Index& index, const IndexKeys& keys) {
  const bool by_name = index.info().names;
  const std::size_t count = by_name ? keys.names.size() : keys.ids.size();
  const std::string& path = vectors.path();
  if (count != vectors.shape().count) {
    misuse("{}: has {} vectors, and {} {} were given; give one for each", path, vectors.shape().count, count,
           by_name ? "names" : "ids");
  }
  auto& row_of_id = rows.emplace();
  const auto add = [&](std::uint64_t id, std::uint64_t row) {
    if (!row_of_id.emplace(id, row).second) {
      misuse("{}: vectors {} and {} have the same key", path, row_of_id[id], row);
    }
  };
  for (std::size_t i = 0; i < keys.ids.size() && !by_name; ++i) add(keys.ids[i], i);
  const std::vector<Segment>& segments = index.content().segments;
  for (std::size_t i = 0; i < keys.names.size() && by_name; ++i) {
    for (std::size_t s = 0; s < segments.size(); ++s) {
      if (const auto row = segments[s].keys.find(std::string_view(keys.names[i]))) add(row_handle(s, *row), i);
    }
  }
}

VectorRanking::VectorRanking(const std::string& path, const Vectors& queries)
    : state_(new State(MappedVectors(path), queries)) {}

VectorRanking::VectorRanking(const std::string& path, const Vectors& queries, const Index& index, const IndexKeys& keys)
    : VectorRanking(path, queries) {
  state_->take_keys(index, keys);
}

VectorRanking::VectorRanking(const Vectors& vectors, const Vectors& queries)
    : state_(new State(MappedVectors(vectors, "the vectors to rank by"), queries)) {}

VectorRanking::VectorRanking(const Vectors& vectors, const Vectors& queries, const Index& index, const IndexKeys& keys)
    : VectorRanking(vectors, queries) {
  state_->take_keys(index, keys);
}

VectorRanking::~VectorRanking() = default;

void VectorRanking::score(std::size_t query, std::span<const Neighbour> shortlist, double* scores) const {
  const MappedVectors& vectors = state_->vectors;
  const Shape& shape = vectors.shape();
  if (query >= state_->query_count)
    misuse("query {} is out of range; there are {} queries", query, state_->query_count);
  const float* own = state_->queries.data() + query * shape.dimension;
  constexpr std::size_t kAhead = 8;
  for (std::size_t i = 0; i < shortlist.size(); ++i) {
    const std::uint64_t row = state_->row_of(shortlist[i].id);
    if (row >= shape.count) misuse("{}: has {} vectors, none for id {}", vectors.path(), shape.count, shortlist[i].id);
    if (i + kAhead < shortlist.size()) {
      const std::uint64_t ahead = state_->row_of(shortlist[i + kAhead].id);
      const std::byte* next = vectors[ahead < shape.count ? ahead : row];
      for (std::size_t at = 0; at < shape.bytes_per_vector(); at += 64) __builtin_prefetch(next + at);
    }
    scores[i] = shape.element == Element::f32 ? square_distance<float>(vectors[row], own, shape.dimension)
                                              : square_distance<std::uint8_t>(vectors[row], own, shape.dimension);
  }
}

struct Reranker::State {
  explicit State(int thread_count) : threads(thread_count), buffers(static_cast<std::size_t>(threads.count())) {}

  // Of one worker.
  struct Buffers {
    std::vector<double> scores;
    std::vector<Ranked> ranked;
  };
  Threads threads;
  std::vector<Buffers> buffers;
};

Reranker::Reranker(int threads) : state_(std::make_unique<State>(threads)) {}
Reranker::~Reranker() = default;
Reranker::Reranker(Reranker&&) noexcept = default;
Reranker& Reranker::operator=(Reranker&&) noexcept = default;

void Reranker::rank(const Results& shortlists, const Ranking& ranking, std::size_t k, RankedResults& results) {
  if (k == 0) misuse("0 neighbours were asked for; ask for at least 1");
  std::size_t longest = 0;
  results.clear();
  for (std::size_t q = 0; q < shortlists.size(); ++q) {
    results.append_blank(std::min(k, shortlists[q].size()));
    longest = std::max(longest, shortlists[q].size());
  }
  // Whichever worker gets the longest.
  for (auto& [scores, ranked] : state_->buffers) {
    scores.reserve(longest);
    ranked.reserve(longest);
  }
  const auto rank_one = [&](std::size_t q, int worker) {
    auto& [scores, ranked] = state_->buffers[static_cast<std::size_t>(worker)];
    const auto shortlist = shortlists[q];
    scores.resize(shortlist.size());
    ranking.score(q, shortlist, scores.data());
    ranked.clear();
    for (std::size_t i = 0; i < shortlist.size(); ++i) {
      ranked.push_back({shortlist[i].id, scores[i], shortlist[i].distance});
    }
    const std::size_t keep = std::min(k, ranked.size());
    std::partial_sort(
        ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(keep), ranked.end(),
        [](const Ranked& a, const Ranked& b) { return a.score != b.score ? a.score < b.score : a.id < b.id; });
    std::copy_n(ranked.begin(), keep, results.list(q).begin());
  };
  state_->threads.for_each(shortlists.size(), std::ref(rank_one));  // by reference, which takes no memory
}

void rerank(const Results& shortlists, const Ranking& ranking, std::size_t k, int threads, RankedResults& results) {
  Reranker(threads).rank(shortlists, ranking, k, results);
}

}  // namespace bdnn
