// Runs under ThreadSanitizer: the threads themselves, and sums that they share.
#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "base/blocks.h"
#include "bdnn/progress.h"

namespace bdnn {
namespace {

TEST(Threads, EveryBlockIsWorkedOnce) {
  for (const int count : {1, 2, 5}) {
    Threads threads(count);
    ASSERT_EQ(threads.count(), count);
    for (const std::size_t blocks : {0, 1, 3, 1000}) {
      std::vector<std::atomic<int>> worked(blocks);
      threads.for_each(blocks, [&](std::size_t block, int worker) {
        ASSERT_LT(worker, count);
        ++worked[block];
      });
      for (const auto& n : worked) EXPECT_EQ(n, 1);
    }
  }
}

TEST(Threads, CommitsComeInOrderOneAtATime) {
  Threads threads(4);
  std::vector<std::size_t> order;
  std::atomic<int> inside{0};
  threads.in_order(
      200,
      [&](std::size_t block, int) {
        volatile double busy = 0;
        for (std::size_t i = 0; i < (block % 7) * 1000; ++i) busy = busy + std::sqrt(static_cast<double>(i));
      },
      [&](std::size_t block, int) {
        EXPECT_EQ(++inside, 1);
        order.push_back(block);
        --inside;
      });
  ASSERT_EQ(order.size(), 200U);
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
}

// Also in order, where a block that is left out would leave the others waiting for their turn.
TEST(Threads, AnExceptionFromAPollEndsTheWork) {
  class Impatient final : public Progress {
   public:
    void poll() override {
      if (++polls > 20) throw std::runtime_error("enough");
    }
    std::atomic<int> polls{0};
  };
  for (const int count : {1, 4}) {
    for (const bool ordered : {false, true}) {
      Impatient progress;
      Threads threads(count, &progress);
      std::atomic<int> worked{0};
      const auto work = [&](std::size_t, int) { ++worked; };
      const auto nothing = [](std::size_t, int) {};
      EXPECT_THROW(ordered ? threads.in_order(1000, work, nothing) : threads.for_each(1000, work), std::runtime_error);
      EXPECT_LE(worked, 20);
      EXPECT_GT(worked, 0);
    }
  }
}

TEST(Threads, TheLowestFailedBlockIsReported) {
  for (const int count : {1, 3}) {
    Threads threads(count);
    for (int repeat = 0; repeat < 50; ++repeat) {
      try {
        threads.for_each(100, [&](std::size_t block, int) {
          if (block >= 10) throw std::runtime_error(std::to_string(block));
        });
        FAIL() << "no exception";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "10");
      }
    }
  }
}

TEST(Threads, AFailureInWorkOrCommitEndsInOrderAndLaterCommitsAreLeftOut) {
  Threads threads(3);
  for (const bool in_commit : {false, true}) {
    std::vector<std::size_t> committed;
    const auto fail_at_20 = [](std::size_t block) {
      if (block == 20) throw std::runtime_error("20");
    };
    EXPECT_THROW(threads.in_order(
                     100,
                     [&](std::size_t block, int) {
                       if (!in_commit) fail_at_20(block);
                     },
                     [&](std::size_t block, int) {
                       fail_at_20(block);
                       committed.push_back(block);
                     }),
                 std::runtime_error);
    ASSERT_EQ(committed.size(), 20U);
    EXPECT_EQ(committed.back(), 19U);
  }
}

TEST(SumOverSamples, IsTheSameBitForBitForAnyNumberOfThreads) {
  constexpr std::size_t kSamples = 20 * kSamplesPerBlock + 17;
  const auto sum = [&](int count) {
    Threads threads(count);
    double total = 0;
    sum_over_samples(threads, kSamples, 0.0F, total, [&](const Range& range, float& partial) {
      for (std::size_t i = range.first; i < range.first + range.count; ++i) {
        partial += std::sin(static_cast<float>(i) * 0.37F) * 1e3F;
      }
    });
    return total;
  };
  const double one = sum(1);
  EXPECT_NE(one, 0.0);
  for (const int count : {2, 3, 8}) EXPECT_EQ(sum(count), one);
}

struct SumAndCount {
  double sum = 0;
  std::size_t count = 0;  // added up without the tree
  SumAndCount& operator+=(const SumAndCount& other) {
    sum += other.sum;
    return *this;
  }
};
struct OwnPartial {
  float sum = 0;
  std::size_t count = 0;
  void clear() { *this = {}; }
  void assign_to(SumAndCount& total) const { total.sum = static_cast<double>(sum); }
  void add_counts_to(SumAndCount& total) const { total.count += count; }
};

TEST(SumOverSamples, PartialSumsOfTheirOwnGiveTheSame) {
  constexpr std::size_t kSamples = 20 * kSamplesPerBlock + 17;
  const auto value = [](std::size_t i) { return std::sin(static_cast<float>(i) * 0.37F) * 1e3F; };
  Threads threads(3);
  double expected = 0;
  sum_over_samples(threads, kSamples, 0.0F, expected, [&](const Range& range, float& partial) {
    for (std::size_t i = range.first; i < range.first + range.count; ++i) partial += value(i);
  });
  SumAndCount total;
  sum_over_samples(threads, kSamples, OwnPartial(), total, [&](const Range& range, OwnPartial& partial) {
    for (std::size_t i = range.first; i < range.first + range.count; ++i) partial.sum += value(i);
    partial.count += range.count;
  });
  EXPECT_EQ(total.sum, expected);
  EXPECT_EQ(total.count, kSamples);
}

// What a sum is made of, in the order of its additions.
struct Expression {
  std::string text;
  Expression& operator+=(const Expression& other) {
    text = "(" + text + "+" + other.text + ")";
    return *this;
  }
};

std::string tree_of(std::size_t first, std::size_t count) {
  TreeSum<Expression> sum{Expression()};
  for (std::size_t i = first; i < first + count; ++i) {
    sum.add([&](Expression& own) { own.text = std::to_string(i); });
  }
  return count == 0 ? "" : sum.total()->text;
}

TEST(TreeSum, FollowsAFixedTree) {
  EXPECT_EQ(tree_of(0, 1), "0");
  EXPECT_EQ(tree_of(0, 2), "(0+1)");
  EXPECT_EQ(tree_of(0, 3), "((0+1)+2)");
  EXPECT_EQ(tree_of(0, 5), "(((0+1)+(2+3))+4)");
  EXPECT_EQ(tree_of(0, 7), "(((0+1)+(2+3))+((4+5)+6))");
}

TEST(TreeSum, AnAlignedRunCanBeSummedElsewhere) {
  EXPECT_EQ(tree_of(0, 12), "(" + tree_of(0, 8) + "+" + tree_of(8, 4) + ")");
  EXPECT_EQ(tree_of(0, 16), "(" + tree_of(0, 8) + "+" + tree_of(8, 8) + ")");
}

TEST(TreeSum, IsUsedAgainAfterClear) {
  TreeSum<double> sum(0.0);
  for (const double value : {1.0, 2.0, 4.0}) sum.add([&](double& own) { own = value; });
  EXPECT_EQ(*sum.total(), 7);
  sum.clear();
  EXPECT_EQ(sum.total(), nullptr);
  sum.add([](double& own) { own = 5; });
  EXPECT_EQ(*sum.total(), 5);
}

TEST(SumOverSamples, BlocksCoverEachSampleOnce) {
  for (const std::size_t samples :
       {std::size_t{1}, kSamplesPerBlock - 1, kSamplesPerBlock, kSamplesPerBlock + 1, 5 * kSamplesPerBlock}) {
    std::size_t next = 0;
    for (std::size_t block = 0; block < blocks_of(samples); ++block) {
      const Range range = block_range(block, samples);
      EXPECT_EQ(range.first, next);
      EXPECT_GT(range.count, 0U);
      next += range.count;
    }
    EXPECT_EQ(next, samples);
  }
}

}  // namespace
}  // namespace bdnn
