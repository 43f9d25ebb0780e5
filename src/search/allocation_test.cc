// Once warm, neither a search nor a ranking takes memory: every allocation of this program is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/random.h"
#include "bdnn/bdnn.h"
#include "codes/bit_groups.h"
#include "sanitized.h"
#include "search/search_testing.h"

// Sanitizers have an operator new of their own.
#if !defined(BDNN_UNDER_ADDRESS_SANITIZER) && !defined(BDNN_UNDER_THREAD_SANITIZER)

namespace {
std::atomic<std::size_t> allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
// Inlined at -O1, GCC 12 takes them for a mismatch of new and free.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace bdnn {
namespace {

// What `work` allocates, once it has run a few times: which thread does what differs from time to time.
template <class Work>
std::size_t allocations_when_warm(const Work& work) {
  for (int i = 0; i < 3; ++i) work();
  const std::size_t before = allocations;
  for (int i = 0; i < 10; ++i) work();
  return allocations - before;
}

// Slow: hash tables pay, and a scan is split, only among many codes, and each search is made 13 times.
TEST(SearchMemory, NothingIsAllocatedOnceWarm) {
  for (const std::size_t bits : {16, 64}) {
    const Codes codes = testing::clustered_codes(bits, 150'000, 0.1, 1);
    const Codes queries = testing::clustered_codes(bits, 10, 0.1, 2);
    const Index index = Index::build(codes, {}, {.tables = IndexOptions::Tables::always});
    const std::vector<std::uint64_t> ids = {3, 700, 140'000};
    const Filter few(index, ids);
    for (const int threads : {1, 2}) {
      for (const Filter* filter : {static_cast<const Filter*>(nullptr), &few}) {
        Searcher searcher(threads);
        Results results;
        for (const std::size_t k : {10, 100}) {
          for (const Plan plan : {Plan::scan, bits <= 16 ? Plan::bucket : Plan::mih, Plan::automatic}) {
            const auto search = [&] { searcher.search(index, queries, {.k = k, .plan = plan}, results, filter); };
            EXPECT_EQ(allocations_when_warm(search), 0U)
                << bits << " bits, k " << k << ", " << threads << " threads, " << name_of(plan);
          }
        }
      }
    }
  }
}

TEST(SearchMemory, RankingAllocatesNothingOnceWarm) {
  class ById final : public Ranking {
   public:
    void score(std::size_t, std::span<const Neighbour> shortlist, double* scores) const override {
      for (std::size_t i = 0; i < shortlist.size(); ++i) scores[i] = -static_cast<double>(shortlist[i].id);
    }
  };
  Results shortlists;
  for (std::size_t size = 0; size < 100; ++size) shortlists.append(std::vector<Neighbour>(size));
  for (const int threads : {1, 2}) {
    Reranker reranker(threads);
    RankedResults ranked;
    EXPECT_EQ(allocations_when_warm([&] { reranker.rank(shortlists, ById(), 10, ranked); }), 0U);
  }
}

// Whether ten calls in a row come to allocate nothing: it may take a while until every thread has met the largest case.
template <class Work>
bool settles(const Work& work) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    if (allocations_when_warm(work) == 0) return true;
  }
  return false;
}

// A model with a decoder, over `dimension` numbers.
Model small_model(std::size_t bits, std::size_t group) {
  Random random(1);
  const std::size_t dimension = 10;
  const auto floats = [&](std::size_t count) {
    std::vector<float> values(count);
    for (auto& value : values) value = static_cast<float>(random.normal());
    return values;
  };
  Model model;
  model.function = Network{{{dimension, bits, floats(dimension * bits), floats(bits)}}};
  const std::size_t features = BitGroups(bits, group).features();
  model.decoder = Decoder{{features, dimension, floats(features * dimension), floats(dimension)}, group};
  return model;
}

// Codes of 32 bits, the indices of codewords.
Model small_quantizer() {
  Random random(1);
  const auto floats = [&](std::size_t count) {
    std::vector<float> values(count);
    for (auto& value : values) value = static_cast<float>(random.normal());
    return values;
  };
  Model model;
  auto& quantizer = model.function.emplace<ProductQuantizer>();
  quantizer.projection = {10, 4, floats(10 * 4), floats(4)};
  for (int part = 0; part < 4; ++part) quantizer.parts.push_back({8, 1, floats(256)});
  return model;
}

// Codes of 32 bits, sums of stumps.
Model small_trees() {
  Model model;
  model.function = BoostedTrees{
      10, 32, 1, 1, std::vector<std::uint32_t>(32, 3), std::vector<float>(32, 0.5F), std::vector<float>(64, 1.0F)};
  return model;
}

TEST(SearchMemory, EncodingAllocatesNothingOnceWarm) {
  Random random(2);
  std::vector<float> values(10 * 5000);
  for (auto& value : values) value = static_cast<float>(random.normal());
  const Vectors x = Vectors::view(values.data(), 10, 5000);
  std::vector<std::uint8_t> codes(5000 * 4);
  for (const Model& model : {small_model(32, 1), small_quantizer(), small_trees()}) {
    for (const int threads : {1, 2}) {
      Encoder encoder(model, {.threads = threads});
      EXPECT_TRUE(settles([&] { encoder.encode(x, codes.data()); }));
      EXPECT_EQ(allocations_when_warm([&] { encoder.encode(values.data(), codes.data()); }), 0U);
    }
  }
}

TEST(SearchMemory, RefiningAllocatesNothingOnceWarm) {
  Random random(2);
  std::vector<float> values(10 * 5000);
  for (auto& value : values) value = static_cast<float>(random.normal());
  const Vectors x = Vectors::view(values.data(), 10, 5000);
  std::vector<std::uint8_t> codes(5000 * 4);
  for (const std::size_t group : {1, 4, 8}) {
    for (const int threads : {1, 2}) {
      Encoder encoder(small_model(32, group), {.refined = true, .threads = threads});
      EXPECT_TRUE(settles([&] { encoder.encode(x, codes.data()); })) << group;
      EXPECT_EQ(allocations_when_warm([&] { encoder.encode(values.data(), codes.data()); }), 0U) << group;
    }
  }
}

TEST(SearchMemory, ScoringAllocatesNothingOnceWarm) {
  Random random(2);
  std::vector<float> values(10 * 20000);
  for (auto& value : values) value = static_cast<float>(random.normal());
  const Vectors x = Vectors::view(values.data(), 10, 20000);
  const Vectors queries = x.slice(0, 70);
  Results shortlists;
  for (std::size_t q = 0; q < queries.size(); ++q) shortlists.append(std::vector<Neighbour>(50, Neighbour{q, 0}));
  for (const std::size_t group : {1, 4, 8}) {
    const Model model = small_model(32, group);
    const Codes codes = encode(model, x);
    for (const RankBy by : {RankBy::asymmetric, RankBy::reconstruction}) {
      const CodeScorer scorer(model, by);
      const ScoreScan scan(scorer, codes);
      const CodeRanking ranking(scorer, codes, queries);
      for (const int threads : {1, 2}) {
        RankedResults ranked;
        ScoreSearcher searcher(threads);
        EXPECT_TRUE(settles([&] { searcher.search(scan, queries, 10, ranked); })) << group;
        Reranker reranker(threads);
        EXPECT_TRUE(settles([&] { reranker.rank(shortlists, ranking, 10, ranked); })) << group;
      }
    }
  }
}

}  // namespace
}  // namespace bdnn

#endif
