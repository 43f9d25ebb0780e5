// Runs under ThreadSanitizer: groups and features are spread over threads.
#include "methods/fasthash/fasthash.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "bdnn/encode.h"
#include "codes/hamming.h"
#include "expect_error.h"
#include "methods/progress_testing.h"
#include "methods/samples_testing.h"

namespace bdnn {
namespace {

// Samples with classes and codes, and what a bit z of them costs, pair by pair.
struct Pairs {
  ClassLabels labels;
  std::vector<std::uint32_t> codes;
  std::size_t bits;
  PairLoss loss;

  double objective(const std::vector<float>& z) const {
    double sum = 0;
    double weight = 0;
    const auto m = static_cast<double>(codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      for (std::size_t j = 0; j < codes.size(); ++j) {
        const auto a = static_cast<double>(labels.sizes[static_cast<std::size_t>(labels.of[i])]);
        const auto b = static_cast<double>(labels.sizes[static_cast<std::size_t>(labels.of[j])]);
        const bool same = labels.of[i] == labels.of[j];
        const double w = same ? 1 / a : (1 / (m - a) + 1 / (m - b)) / 2;
        const double d = std::popcount(codes[i] ^ codes[j]) + (z[i] != z[j] ? 1 : 0);
        const auto r = static_cast<double>(bits + 1);
        const double squared = std::pow(2 * (same ? d : r - d), 2);
        const double hinge = std::pow(same ? d : std::max(0.0, r / 2 - d), 2);
        sum += w * (loss == PairLoss::hinge ? hinge + 1e-3 * squared : squared);
        weight += w;
      }
    }
    return sum / weight;
  }
  double least() const {
    double least = 1e300;
    std::vector<float> z(codes.size());
    for (std::uint32_t all = 0; all < 1U << (codes.size() - 1); ++all) {
      for (std::size_t i = 0; i < z.size(); ++i) z[i] = (all >> i & 1U) != 0 ? 1.0F : -1.0F;
      least = std::min(least, objective(z));
    }
    return least;
  }
};

Pairs random_pairs(std::size_t samples, std::size_t classes, std::size_t bits, double noise, PairLoss loss,
                   Random& random) {
  std::vector<std::int64_t> labels(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    labels[i] = static_cast<std::int64_t>(i < classes ? i : std::min(random.below(classes), random.below(classes)));
  }
  Pairs pairs{number_classes(labels, "fasthash"), {}, bits, loss};
  std::vector<std::uint32_t> of_class(classes);
  for (auto& code : of_class) code = static_cast<std::uint32_t>(random.below(std::uint64_t{1} << bits));
  for (std::size_t i = 0; i < samples; ++i) {
    std::uint32_t code = of_class[static_cast<std::size_t>(labels[i])];
    for (std::size_t k = 0; k < bits; ++k) code ^= random.uniform() < noise ? 1U << k : 0U;
    pairs.codes.push_back(code);
  }
  return pairs;
}

// The inference, with the codes of `pairs` as the bits so far.
BitInference inference_of(const Pairs& pairs, Threads& threads, std::size_t most_groups = 4096) {
  BitInference inference(pairs.labels, pairs.bits + 1, pairs.loss, 1, threads, most_groups);
  for (std::size_t k = 0; k < pairs.bits; ++k) {
    std::vector<float> outputs;
    for (const std::uint32_t code : pairs.codes) outputs.push_back((code >> k & 1U) != 0 ? 0.5F : -0.5F);
    inference.append(outputs);
  }
  return inference;
}

class Losses : public ::testing::TestWithParam<PairLoss> {};
using BitInferenceTest = Losses;
INSTANTIATE_TEST_SUITE_P(Losses, BitInferenceTest, ::testing::Values(PairLoss::hinge, PairLoss::squared));

TEST_P(BitInferenceTest, TheObjectiveIsThatOfAllPairs) {
  Threads threads(2);
  Random random(1);
  for (const std::size_t bits : {0, 1, 5, 9}) {
    const Pairs pairs = random_pairs(60, 4, bits, 0.1, GetParam(), random);
    const BitInference::Bit bit = inference_of(pairs, threads).next();
    EXPECT_NEAR(bit.objective, pairs.objective(bit.z), 1e-9 * (1 + bit.objective)) << bits;
    EXPECT_EQ(bit.samples, 60U);
  }
}

TEST_P(BitInferenceTest, TheFirstBitIsTheBestOfAll) {
  Threads threads(1);
  Random random(2);
  for (int round = 0; round < 10; ++round) {
    const Pairs pairs = random_pairs(12, 2 + static_cast<std::size_t>(round) % 5, 0, 0, GetParam(), random);
    const BitInference::Bit bit = inference_of(pairs, threads).next();
    EXPECT_NEAR(bit.objective, pairs.least(), 1e-9) << round;
  }
}

TEST_P(BitInferenceTest, ABitOfClassesWithOneCodeEachIsTheBestOfAll) {
  Threads threads(1);
  Random random(3);
  for (int round = 0; round < 10; ++round) {
    const Pairs pairs = random_pairs(11, 4, 3, 0, GetParam(), random);
    EXPECT_NEAR(inference_of(pairs, threads).next().objective, pairs.least(), 1e-9) << round;
  }
}

TEST_P(BitInferenceTest, NoFlipOfASampleOrAClassIsBetter) {
  Threads threads(2);
  Random random(4);
  for (int round = 0; round < 20; ++round) {
    // Where codes do not follow classes, the best bit of whole classes is far from the best.
    const Pairs pairs = random_pairs(30, 5, 6, round % 2 == 0 ? 0.2 : 0.5, GetParam(), random);
    const BitInference::Bit bit = inference_of(pairs, threads).next();
    for (std::size_t i = 0; i < 30; ++i) {
      auto z = bit.z;
      z[i] = -z[i];
      EXPECT_GE(pairs.objective(z), bit.objective - 1e-8) << round;
    }
    for (std::int32_t c = 0; c < 5; ++c) {
      auto z = bit.z;
      for (std::size_t i = 0; i < 30; ++i) z[i] = pairs.labels.of[i] == c ? -z[i] : z[i];
      EXPECT_GE(pairs.objective(z), bit.objective - 1e-8) << round;
    }
  }
}

TEST_P(BitInferenceTest, NoBitIsTheSameForAllSamples) {
  Threads threads(1);
  Random random(7);
  for (const std::size_t classes : {2, 3, 8}) {
    const Pairs pairs = random_pairs(24, classes, 0, 0, GetParam(), random);
    BitInference inference(pairs.labels, 20, GetParam(), 1, threads, 4096);
    for (int k = 0; k < 20; ++k) {
      const std::vector<float> z = inference.next().z;
      EXPECT_NE(*std::min_element(z.begin(), z.end()), *std::max_element(z.begin(), z.end())) << classes << ", " << k;
      inference.append(z);
    }
  }
}

TEST(GroupedPairs, NoRoundRaisesTheObjective) {
  Threads threads(1);
  Random random(5);
  for (const std::size_t classes : {4, 30}) {  // solved exactly, and by descents
    for (int round = 0; round < 10; ++round) {
      std::vector<CodeGroup> groups;
      std::vector<std::uint8_t> codes;
      std::vector<std::size_t> sizes(classes, 0);
      for (std::size_t g = 0; g < 3 * classes; ++g) {
        const std::size_t count = 1 + random.below(20);
        groups.push_back({static_cast<std::int32_t>(g % classes), static_cast<double>(count)});
        sizes[g % classes] += count;
        codes.push_back(static_cast<std::uint8_t>(random.below(256)));
      }
      const GroupedPairs problem(groups, codes, 8, sizes, PairLoss::hinge, threads);
      std::vector<double> stages;
      const auto z = problem.solve(1, &stages);
      EXPECT_TRUE(std::is_sorted(stages.rbegin(), stages.rend()));
      EXPECT_EQ(stages.back(), problem.objective(z));
    }
  }
}

// The same descent with every objective computed from scratch. Flips change what later ones are worth, so one that is
// accounted for wrongly leads elsewhere.
TEST(GroupedPairs, DescendsAsByTheObjectiveItself) {
  Threads threads(1);
  Random random(8);
  constexpr std::size_t kClasses = 4;
  int flips = 0;
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<CodeGroup> groups;
    std::vector<std::uint8_t> codes;
    std::vector<std::size_t> sizes(kClasses, 0);
    for (std::size_t g = 0; g < 6 * kClasses; ++g) {
      const std::size_t count = 1 + random.below(20);
      groups.push_back({static_cast<std::int32_t>(g % kClasses), static_cast<double>(count)});
      sizes[g % kClasses] += count;
      codes.push_back(static_cast<std::uint8_t>(random.below(256)));
    }
    const GroupedPairs problem(groups, codes, 8, sizes, PairLoss::squared, threads);
    std::vector<std::int8_t> z;
    for (std::size_t g = 0; g < groups.size(); ++g)
      z.push_back(random.below(2) == 1 ? std::int8_t{1} : std::int8_t{-1});
    const std::vector<std::int8_t> start = z;
    std::vector<double> expected = {problem.objective(z)};
    const auto flip_if_better = [&](const auto& concerned) {
      auto flipped = z;
      for (std::size_t g = 0; g < groups.size(); ++g)
        flipped[g] = static_cast<std::int8_t>(concerned(g) ? -z[g] : z[g]);
      if (problem.objective(flipped) >= problem.objective(z) - 1e-8) return false;
      z = flipped;
      ++flips;
      return true;
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        changed |= flip_if_better([&](std::size_t other) { return other == g; });
      }
      for (std::size_t c = 0; c < kClasses; ++c) {
        changed |= flip_if_better([&](std::size_t g) { return g % kClasses == c; });
      }
      expected.push_back(problem.objective(z));
    }
    std::vector<double> stages;
    EXPECT_EQ(problem.descend(start, &stages), z) << trial;
    ASSERT_EQ(stages.size(), expected.size()) << trial;
    for (std::size_t i = 0; i < stages.size(); ++i) EXPECT_NEAR(stages[i], expected[i], 1e-9) << trial;
  }
  EXPECT_GT(flips, 60);
}

TEST(GroupedPairs, AClassIsSplitWhereThatIsBetter) {
  // Half of a small class has the code of one large class, half that of the other. Large classes must differ, so one
  // half of the small one is on the wrong side until it is flipped.
  Threads threads(1);
  const std::vector<CodeGroup> groups = {{0, 5}, {0, 5}, {1, 500}, {2, 500}};
  const std::vector<std::size_t> sizes = {10, 500, 500};
  const GroupedPairs problem(groups, {0, 3, 0, 3}, 8, sizes, PairLoss::hinge, threads);
  std::vector<double> stages;
  const auto z = problem.solve(1, &stages);
  EXPECT_LT(stages.back(), stages.front());
  EXPECT_NE(z[0], z[2]);
  EXPECT_NE(z[1], z[3]);
  EXPECT_NE(z[2], z[3]);
}

TEST(BitInference, WithTooManyGroupsTheOthersTakeTheBetterBit) {
  Threads threads(2);
  Random random(6);
  // Two classes that differ in all of 20 bits, but for noise that gives nearly every sample a code of its own.
  constexpr std::size_t kSamples = 600;
  Pairs pairs = random_pairs(kSamples, 2, 20, 0, PairLoss::hinge, random);
  for (std::size_t i = 0; i < kSamples; ++i) {
    pairs.codes[i] = pairs.labels.of[i] == 0 ? 0 : 0xfffff;
    for (std::size_t k = 0; k < 20; ++k) pairs.codes[i] ^= random.uniform() < 0.3 ? 1U << k : 0U;
  }
  BitInference inference = inference_of(pairs, threads, 200);
  ASSERT_GT(inference.groups(), 400U);
  const BitInference::Bit bit = inference.next();
  EXPECT_EQ(bit.samples, 200U);
  EXPECT_NEAR(bit.objective, pairs.objective(bit.z), 0.1 * bit.objective);
  for (std::size_t i = 0; i < kSamples; ++i) {
    EXPECT_EQ(bit.z[i] == bit.z[0], pairs.labels.of[i] == pairs.labels.of[0]) << i;
  }
}

struct Sample {
  std::vector<std::int64_t> labels;
  Vectors x;

  Sample(std::int64_t classes, std::size_t count, std::size_t dimension, std::uint64_t seed)
      : labels(testing::turns(classes, count)), x(testing::blobs(labels, dimension, 2, seed)) {}
};

TEST(FastHash, TheCodesOfTheModelAreThoseItLearntFrom) {
  testing::Rounds rounds;
  const Sample data(2, 400, 1, 1);
  const Model model =
      train(data.x, {.method = "fasthash", .bits = 1, .set = {{"trees", "1"}, {"depth", "1"}}, .labels = data.labels},
            rounds);
  // A bit of two classes is the class itself, and what the trees miss are samples of the wrong one.
  const Codes codes = encode(model, data.x);
  double missed = 0;
  for (std::size_t i = 0; i < 400; ++i) missed += (codes[i][0] & 1) == static_cast<int>(data.labels[i]) ? 0 : 1;
  missed = std::min(missed, 400 - missed);
  EXPECT_GT(missed, 0);
  EXPECT_DOUBLE_EQ(rounds.figures("missed").at(0), missed / 400);
}

TEST(FastHash, WhereOnlySomePairsCountItIsSaid) {
  const Sample data(4, 300, 3, 8);
  const auto stages = [&](const char* groups) {
    return testing::stages_of(data.x, {.method = "fasthash",
                                       .bits = 2,
                                       .set = {{"trees", "2"}, {"depth", "2"}, {"groups", groups}},
                                       .labels = data.labels,
                                       .decoder = false});
  };
  EXPECT_EQ(stages("4096"), std::set<std::string>{"bits"});
  // Each of the four classes is a group. The first stage ends before a bit is found.
  EXPECT_EQ(stages("3"), (std::set<std::string>{"bits", "bits, from pairs of 3 of 300 samples"}));
}

TEST(FastHash, MoreTreesMissFewerBits) {
  struct Missed : Progress {
    double sum = 0;
    void round(const Round& values) override { sum += values[1].second; }
  };
  const Sample data(6, 600, 8, 2);
  double last = 1e9;
  for (const char* trees : {"1", "8", "64"}) {
    Missed missed;
    train(data.x, {.method = "fasthash", .bits = 6, .set = {{"trees", trees}, {"depth", "2"}}, .labels = data.labels},
          missed);
    EXPECT_LT(missed.sum, last) << trees;
    last = missed.sum;
  }
}

TEST(FastHash, BothLossesTellClassesApart) {
  const Sample data(8, 640, 8, 3);
  const Sample fresh(8, 160, 8, 4);
  for (const char* loss : {"hinge", "squared"}) {
    const Model model = train(
        data.x, {.method = "fasthash", .bits = 16, .set = {{"trees", "30"}, {"loss", loss}}, .labels = data.labels});
    const Codes a = encode(model, data.x);
    const Codes b = encode(model, fresh.x);
    double right = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
      std::size_t nearest = 0;
      for (std::size_t j = 0; j < a.size(); ++j) {
        if (hamming_distance(b[i], a[j]) < hamming_distance(b[i], a[nearest])) nearest = j;
      }
      right += fresh.labels[i] == data.labels[nearest] ? 1 : 0;
    }
    EXPECT_GT(right, 0.95 * 160) << loss;
  }
}

TEST(FastHash, AShorterCodeIsTheBeginningOfALongerOne) {
  const Sample data(20, 200, 4, 7);
  const auto trained = [&](std::size_t bits) {
    return std::get<BoostedTrees>(
        train(data.x, {.method = "fasthash", .bits = bits, .set = {{"trees", "2"}}, .labels = data.labels}).function);
  };
  const BoostedTrees shorter = trained(9);
  const BoostedTrees longer = trained(17);
  EXPECT_TRUE(std::equal(shorter.leaves.begin(), shorter.leaves.end(), longer.leaves.begin()));
  EXPECT_TRUE(std::equal(shorter.thresholds.begin(), shorter.thresholds.end(), longer.thresholds.begin()));
}

TEST(FastHash, TheUnlabelledTakeNoPart) {
  const Sample data(3, 120, 4, 5);
  std::vector<float> values(data.x.floats(0, 120, nullptr), data.x.floats(0, 120, nullptr) + 480);
  auto labels = data.labels;
  for (int i = 0; i < 60; ++i) {
    values.insert(values.end(), {1000.0F, -500.0F, static_cast<float>(i), 3.0F});
    labels.push_back(-1);
  }
  const std::map<std::string, std::string> brief = {{"trees", "5"}};
  const Model with = train(Vectors(4, 180, values), {.method = "fasthash", .bits = 6, .set = brief, .labels = labels});
  const Model without = train(data.x, {.method = "fasthash", .bits = 6, .set = brief, .labels = data.labels});
  EXPECT_EQ(std::get<BoostedTrees>(with.function).leaves, std::get<BoostedTrees>(without.function).leaves);
  EXPECT_EQ(std::get<BoostedTrees>(with.function).thresholds, std::get<BoostedTrees>(without.function).thresholds);
}

TEST(FastHash, MistakesAreNamed) {
  const Sample data(2, 40, 3, 6);
  EXPECT_BDNN_ERROR(train(data.x, {.method = "fasthash", .bits = 4}), misuse, "fasthash learns from labels");
  EXPECT_BDNN_ERROR(train(data.x, {.method = "fasthash", .bits = 4, .labels = std::vector<std::int64_t>(40, 7)}),
                    misuse, "all labelled samples have the same label; fasthash learns from pairs");
  EXPECT_BDNN_ERROR(train(data.x, {.method = "fasthash", .bits = 4, .set = {{"depth", "9"}}, .labels = data.labels}),
                    misuse, "depth is 1 to 8");
  EXPECT_BDNN_ERROR(train(data.x, {.method = "fasthash", .bits = 4, .set = {{"loss", "bre"}}, .labels = data.labels}),
                    misuse, "loss is hinge or squared");
}

}  // namespace
}  // namespace bdnn
