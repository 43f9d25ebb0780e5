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

constexpr std::size_t kDimension = 10;

std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (auto& value : values) value = static_cast<float>(random.normal());
  return values;
}

Layer random_layer(std::size_t inputs, std::size_t outputs) {
  return {inputs, outputs, random_floats(inputs * outputs, 1), random_floats(outputs, 2)};
}

// A model with a decoder.
Model small_model(std::size_t bits, std::size_t group) {
  Model model;
  model.function = Network{{random_layer(kDimension, bits)}};
  model.decoder = Decoder{random_layer(BitGroups(bits, group).features(), kDimension), group};
  return model;
}

// Codes of 32 bits, from vectors that are reduced first.
Model small_reduced_model() {
  constexpr std::size_t kComponents = 6;
  Model model;
  model.function = Network{{random_layer(kComponents, 32)}};
  model.reduction = random_layer(kDimension, kComponents);
  return model;
}

// Codes of 32 bits, from distances to anchors.
Model small_anchor_model(AnchorNetwork::Kernel kernel, bool unit_inputs) {
  constexpr std::size_t kAnchors = 20;
  Model model;
  auto& function = model.function.emplace<AnchorNetwork>();
  function.kernel = kernel;
  function.gamma = 0.1F;
  function.dimension = kDimension;
  function.anchors = random_floats(kAnchors * kDimension, 3);
  function.network = {{random_layer(kAnchors, 32)}};
  function.unit_inputs = unit_inputs;
  return model;
}

// Codes of 32 bits, the indices of codewords.
Model small_quantizer() {
  Model model;
  auto& quantizer = model.function.emplace<ProductQuantizer>();
  quantizer.projection = random_layer(kDimension, 4);
  for (std::size_t part = 0; part < 4; ++part) quantizer.parts.push_back({8, 1, random_floats(256, part)});
  return model;
}

// Codes of 32 bits, sums of stumps.
Model small_trees() {
  Model model;
  model.function = BoostedTrees{
      10, 32, 1, 1, std::vector<std::uint32_t>(32, 3), std::vector<float>(32, 0.5F), std::vector<float>(64, 1.0F)};
  return model;
}

// One query is split over threads by parts of the database, many are not; starting a thread would take memory.
TEST(SearchMemory, SphericalSearchAllocatesNothingOnceWarm) {
  const SphericalScan scan(testing::clustered_codes(32, 150'000, 0.1, 1), 2);
  for (const int threads : {1, 2}) {
    SphericalSearcher searcher(threads);
    RankedResults results;
    for (const std::size_t count : {1, 10, 100}) {
      const Codes queries = testing::clustered_codes(32, count, 0.1, 2);
      for (const std::size_t k : {10, 100}) {
        EXPECT_TRUE(settles([&] { searcher.search(scan, queries, k, results); }))
            << count << " queries, k " << k << ", " << threads << " threads";
      }
    }
  }
}

TEST(SearchMemory, EncodingAllocatesNothingOnceWarm) {
  const std::vector<float> values = random_floats(kDimension * 5000, 2);
  const Vectors x = Vectors::view(values.data(), kDimension, 5000);
  std::vector<std::uint8_t> codes(5000 * 4);
  using Kernel = AnchorNetwork::Kernel;
  for (const Model& model : {small_model(32, 1), small_reduced_model(), small_anchor_model(Kernel::gaussian, false),
                             small_anchor_model(Kernel::distance, true), small_quantizer(), small_trees()}) {
    for (const int threads : {1, 2}) {
      Encoder encoder(model, {.threads = threads});
      EXPECT_TRUE(settles([&] { encoder.encode(x, codes.data()); })) << model.describe().front();
      EXPECT_EQ(allocations_when_warm([&] { encoder.encode(values.data(), codes.data()); }), 0U)
          << model.describe().front();
    }
  }
}

// Slow: thousands of codes are refined by local search, again and again.
TEST(SearchMemory, RefiningAllocatesNothingOnceWarm) {
  const std::vector<float> values = random_floats(kDimension * 5000, 2);
  const Vectors x = Vectors::view(values.data(), kDimension, 5000);
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
  const std::vector<float> values = random_floats(kDimension * 20000, 2);
  const Vectors x = Vectors::view(values.data(), kDimension, 20000);
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
