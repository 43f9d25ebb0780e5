// Once warm, a search takes no memory: every allocation of this program is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "bdnn/index.h"
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

TEST(SearchMemory, NothingIsAllocatedOnceWarm) {
  for (const std::size_t bits : {16, 64}) {
    const Codes codes = testing::clustered_codes(bits, 100'000, 0.1, 1);
    const Codes queries = testing::clustered_codes(bits, 40, 0.1, 2);
    const Index index = Index::build(codes, {}, {.tables = IndexOptions::Tables::always});
    for (const int threads : {1, 2}) {
      Searcher searcher(threads);
      Results results;
      for (const Plan plan : {Plan::scan, bits <= 16 ? Plan::bucket : Plan::mih, Plan::automatic}) {
        const auto search = [&] { searcher.search(index, queries, {.k = 10, .plan = plan}, results); };
        for (int i = 0; i < 20; ++i) search();  // which thread works on which query differs from time to time
        const std::size_t before = allocations;
        search();
        EXPECT_LE(allocations - before, threads == 1 ? 0U : 2U) << bits << " bits, " << name_of(plan);
      }
    }
  }
}

}  // namespace
}  // namespace bdnn

#endif
