// Once warm, neither a search nor a ranking takes memory: every allocation of this program is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "bdnn/index.h"
#include "bdnn/rerank.h"
#include "search/search_testing.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
std::atomic<std::size_t> allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

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

// Slow: tables pay, and a scan is split, only among many codes, and each search is made 13 times.
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

}  // namespace
}  // namespace bdnn

#endif
