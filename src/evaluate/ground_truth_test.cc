// Runs under ThreadSanitizer: blocks of queries are searched on several threads.
#include "bdnn/ground_truth.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "base/simd_target.h"
#include "data/element.h"
#include "data/format.h"
#include "expect_error.h"

namespace bdnn {
namespace {

template <class T>
Vectors vectors_of(std::size_t dimension, Element element, const std::vector<T>& values) {
  const Shape shape{dimension, values.size() / dimension, element};
  const auto data = allocate_vectors(shape, "a test");
  std::memcpy(data.get(), values.data(), values.size() * sizeof(T));
  return {shape, data};
}

template <class T>
Vectors random_vectors(std::size_t dimension, std::size_t count, Element element,
                       const std::function<double()>& number) {
  std::vector<T> values(dimension * count);
  for (auto& value : values) value = static_cast<T>(number());
  return vectors_of(dimension, element, values);
}

// Small integers: most distances occur many times.
Vectors few_bytes(std::size_t dimension, std::size_t count, std::uint64_t largest, std::uint64_t seed) {
  Random random(seed);
  return random_vectors<std::uint8_t>(dimension, count, Element::u8,
                                      [&] { return static_cast<double>(random.below(largest + 1)); });
}

Vectors normal_floats(std::size_t dimension, std::size_t count, double mean, std::uint64_t seed) {
  Random random(seed);
  return random_vectors<float>(dimension, count, Element::f32, [&] { return mean + random.normal(); });
}

std::vector<double> row_of(const Vectors& x, std::size_t row) {
  std::vector<double> out(x.dimension());
  visit_element(x.shape().element, [&](auto type) {
    using T = typename decltype(type)::type;
    for (std::size_t i = 0; i < out.size(); ++i) {
      T value;
      std::memcpy(&value, x.data() + (row * x.dimension() + i) * sizeof(T), sizeof(T));
      out[i] = static_cast<double>(value);
    }
  });
  return out;
}

double naive_distance(const std::vector<double>& q, const std::vector<double>& x, Metric metric) {
  double squares = 0, dot = 0, qq = 0, xx = 0;
  for (std::size_t i = 0; i < q.size(); ++i) {
    squares += (q[i] - x[i]) * (q[i] - x[i]);
    dot += q[i] * x[i];
    qq += q[i] * q[i];
    xx += x[i] * x[i];
  }
  return metric == Metric::euclidean ? squares : 1 - dot / (std::sqrt(qq) * std::sqrt(xx));
}

GroundTruth naive_neighbours(const Vectors& database, const Vectors& queries, const GroundTruthOptions& options) {
  GroundTruth truth{options.k, {}};
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < database.size(); ++i) rows.push_back(row_of(database, i));
  for (std::size_t query = 0; query < queries.size(); ++query) {
    const auto q = row_of(queries, query);
    std::vector<std::pair<double, std::int32_t>> all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!options.self.empty() && options.self[query] == static_cast<std::int64_t>(i)) continue;
      all.emplace_back(naive_distance(q, rows[i], options.metric), static_cast<std::int32_t>(i));
    }
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < options.k; ++i) truth.ids.push_back(all[i].second);
  }
  return truth;
}

GroundTruth ours(const Vectors& database, const Vectors& queries, const GroundTruthOptions& options) {
  Progress progress;
  return exact_neighbours(database, queries, options, progress);
}

void expect_exact(const Vectors& database, const Vectors& queries, const GroundTruthOptions& options) {
  const GroundTruth truth = ours(database, queries, options);
  EXPECT_EQ(truth.k, options.k);
  EXPECT_EQ(truth.queries(), queries.size());
  EXPECT_EQ(truth.ids, naive_neighbours(database, queries, options).ids);
}

RC_GTEST_PROP(GroundTruthProperty, EqualsASortOfAllDistances, ()) {
  const auto dimension = static_cast<std::size_t>(*rc::gen::inRange(1, 40));
  const auto count = static_cast<std::size_t>(*rc::gen::inRange(2, 1500));
  const auto asked = static_cast<std::size_t>(*rc::gen::inRange(1, 60));
  const auto kind = *rc::gen::inRange(0, 5);
  GroundTruthOptions options;
  options.k = std::min<std::size_t>(*rc::gen::arbitrary<bool>() ? asked : 1, count - 1);
  options.threads = *rc::gen::inRange(1, 3);
  options.metric = *rc::gen::element(Metric::euclidean, Metric::cosine);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const std::size_t query_count = 1 + seed % 40;
  if (*rc::gen::arbitrary<bool>()) {
    for (std::size_t i = 0; i < query_count; ++i) {
      options.self.push_back(static_cast<std::int64_t>((seed + i * 7) % (count + 1)) - 1);
    }
  }
  const auto make = [&](std::size_t n, std::uint64_t s) {
    Random random(s);
    const auto small = [&] { return 1 + static_cast<double>(random.below(3)); };
    switch (kind) {
      case 0: return random_vectors<std::uint8_t>(dimension, n, Element::u8, small);
      case 1: return random_vectors<float>(dimension, n, Element::f32, small);
      case 2: return random_vectors<std::int16_t>(dimension, n, Element::i16, [&] { return 1000 * small(); });
      case 3: return random_vectors<double>(dimension, n, Element::f64, [&] { return random.normal(); });
      default: return random_vectors<float>(dimension, n, Element::f32, [&] { return random.normal(); });
    }
  };
  const Vectors database = make(count, seed);
  const Vectors queries = make(query_count, seed + 1);
  RC_ASSERT(ours(database, queries, options).ids == naive_neighbours(database, queries, options).ids);
}

class GroundTruthOnTarget : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_simd_target(GetParam()); }
  void TearDown() override { force_simd_target(""); }
};

TEST_P(GroundTruthOnTarget, BytesWithTies) {
  expect_exact(few_bytes(17, 5000, 2, 1), few_bytes(17, 70, 2, 2), {.k = 20});
  expect_exact(few_bytes(200, 3000, 255, 3), few_bytes(200, 70, 255, 4), {.k = 100});
  expect_exact(few_bytes(784, 500, 255, 5), few_bytes(784, 9, 255, 6), {.k = 30});  // too long for exact floats
}

TEST_P(GroundTruthOnTarget, Floats) {
  expect_exact(normal_floats(61, 3000, 0, 1), normal_floats(61, 50, 0, 2), {.k = 50});
  expect_exact(normal_floats(3, 3000, 0, 1), normal_floats(3, 401, 0, 2), {.k = 5});
}

TEST_P(GroundTruthOnTarget, Cosine) {
  expect_exact(normal_floats(33, 2000, 0, 1), normal_floats(33, 40, 0, 2), {.k = 40, .metric = Metric::cosine});
  expect_exact(normal_floats(33, 2000, 100, 1), normal_floats(33, 40, 100, 2), {.k = 40, .metric = Metric::cosine});
  expect_exact(few_bytes(33, 2000, 2, 1), few_bytes(33, 40, 2, 2), {.k = 40, .metric = Metric::cosine});
}

INSTANTIATE_TEST_SUITE_P(Targets, GroundTruthOnTarget, ::testing::ValuesIn(simd_targets()),
                         [](const auto& target) { return target.param; });

TEST(GroundTruth, ALargeMeanDoesNotHideTheDifferences) {
  expect_exact(normal_floats(100, 4000, 1e4, 1), normal_floats(100, 30, 1e4, 2), {.k = 50});
}

TEST(GroundTruth, AFewVectorsFarAwayDoNotMatter) {
  const Vectors near = normal_floats(20, 3000, 0, 1);
  std::vector<float> values(near.floats(0, 1, nullptr), near.floats(0, 1, nullptr) + 3000 * 20);
  for (std::size_t i = 0; i < 20; ++i) values[1234 * 20 + i] = 1e9F;
  expect_exact({20, 3000, values}, normal_floats(20, 30, 0, 2), {.k = 10});
}

TEST(GroundTruth, DuplicatesAreSortedById) {
  const Vectors same(4, 5000, std::vector<float>(4 * 5000, 0.1F));
  const GroundTruth truth = ours(same, same.slice(0, 3), {.k = 700});
  for (std::size_t q = 0; q < 3; ++q) {
    for (std::size_t i = 0; i < 700; ++i) ASSERT_EQ(truth.of(q)[i], static_cast<std::int32_t>(i));
  }
}

// All within a few roundings of each other, far from the query: the bound in float rules out nothing.
TEST(GroundTruth, DataThatDefeatsTheBoundIsRightAllTheSame) {
  Random random(1);
  const Vectors database =
      random_vectors<double>(12, 4000, Element::f64, [&] { return 1e-9 * static_cast<double>(random.below(50)); });
  expect_exact(database, normal_floats(12, 5, 1, 2), {.k = 3});
  expect_exact(database, normal_floats(12, 5, 1, 2), {.k = 500});
}

TEST(GroundTruth, NumbersOfAnySizeWork) {
  for (const double size : {1e-170, 1e-40, 1e-20, 1e18, 1e38, 1e100, 1e149}) {
    Random random(1);
    const auto number = [&] { return size * random.normal() / 8; };
    const Vectors database = random_vectors<double>(9, 800, Element::f64, number);
    const Vectors queries = random_vectors<double>(9, 20, Element::f64, number);
    expect_exact(database, queries, {.k = 20});
    if (size > 1e-130) expect_exact(database, queries, {.k = 20, .metric = Metric::cosine});
    if (size < 1e-45 || size > 1e38) continue;
    expect_exact(random_vectors<float>(9, 800, Element::f32, number),
                 random_vectors<float>(9, 20, Element::f32, number), {.k = 20});
  }
}

TEST(GroundTruth, QueriesMayHaveAnotherElementType) {
  expect_exact(few_bytes(30, 2000, 3, 1), normal_floats(30, 20, 1, 2), {.k = 30});
  expect_exact(normal_floats(30, 2000, 1, 1), few_bytes(30, 20, 3, 2), {.k = 30});
}

TEST(GroundTruth, AllOfTheDatabaseInOrder) {
  expect_exact(few_bytes(5, 1200, 3, 1), few_bytes(5, 4, 3, 2), {.k = 1200});
  expect_exact(normal_floats(5, 1200, 0, 1), normal_floats(5, 4, 0, 2), {.k = 1200});
  expect_exact(normal_floats(5, 1, 0, 1), normal_floats(5, 4, 0, 2), {.k = 1});
}

// So many that the search starts from a guess by a sample of every 32nd vector, which is right or, here, wrong.
TEST(GroundTruth, ManyNeighboursOfManyVectors) {
  constexpr std::size_t kCount = 240000;
  Random random(1);
  std::vector<float> values(2 * kCount);
  for (auto& value : values) value = static_cast<float>(random.normal());
  const Vectors queries = normal_floats(2, 4, 0, 2);
  expect_exact({2, kCount, values}, queries, {.k = 3500});
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += i / 2 % 33 == 0 ? 0.0F : 100.0F;
  expect_exact({2, kCount, values}, queries, {.k = 3500});
}

TEST(GroundTruth, SelfIsLeftOut) {
  const Vectors x = few_bytes(6, 900, 4, 1);
  GroundTruthOptions options{.k = 899};
  options.self.resize(900);
  std::iota(options.self.begin(), options.self.end(), 0);
  expect_exact(x, x, options);
  options.k = 10;
  options.self[7] = -1;
  expect_exact(x, x, options);
}

TEST(GroundTruth, ThreadsChangeNothing) {
  const Vectors database = normal_floats(24, 3000, 3, 1);
  const Vectors queries = normal_floats(24, 333, 3, 2);
  const auto one = ours(database, queries, {.k = 25, .threads = 1});
  for (const int threads : {2, 3}) EXPECT_EQ(ours(database, queries, {.k = 25, .threads = threads}).ids, one.ids);
}

TEST(GroundTruth, ProgressEndsWithAllQueries) {
  struct Last final : Progress {
    std::size_t done = 0, total = 1;
    void update(std::string_view, std::size_t d, std::size_t t) override { done = d, total = t; }
  } last;
  exact_neighbours(few_bytes(6, 90, 4, 1), few_bytes(6, 77, 4, 1), {.k = 3}, last);
  EXPECT_EQ(last.done, 77U);
  EXPECT_EQ(last.total, 77U);
}

TEST(GroundTruth, CanBeCancelledWithinABlockOfQueries) {
  struct Counting final : Progress {
    int polls = 0;
    void poll() override { ++polls; }
  };
  // Two blocks of queries in place of one: not one more poll, but as many as the database has tiles.
  const Vectors database = few_bytes(784, 2000, 4, 1);
  const Vectors queries = few_bytes(784, 640, 4, 2);
  Counting one;
  Counting two;
  exact_neighbours(database, queries.slice(0, 320), {.k = 3, .threads = 1}, one);
  exact_neighbours(database, queries, {.k = 3, .threads = 1}, two);
  EXPECT_GE(two.polls - one.polls, 10);
}

TEST(GroundTruth, MisuseIsExplained) {
  const Vectors x = few_bytes(6, 90, 4, 1);
  EXPECT_BDNN_ERROR(ours(x, x, {.k = 0}), misuse, "ask for at least 1");
  EXPECT_BDNN_ERROR(ours(x, x, {.k = 91}), misuse, "ask for at most 90");
  GroundTruthOptions options{.k = 90};
  options.self.assign(90, -1);
  options.self[89] = 3;
  EXPECT_BDNN_ERROR(ours(x, x, options), misuse, "ask for at most 89");
  options.k = 5;
  options.self[4] = 90;
  EXPECT_BDNN_ERROR(ours(x, x, options), misuse, "query 4 leaves out id 90; ids are 0 to 89");
  options.self.pop_back();
  EXPECT_BDNN_ERROR(ours(x, x, options), misuse, "89 ids to leave out were given for 90 queries");
  EXPECT_BDNN_ERROR(ours(x, few_bytes(7, 9, 4, 1), {.k = 5}), misuse, "dimension 7, the database has 6");
  EXPECT_BDNN_ERROR(ours(x, x.slice(0, 0), {.k = 5}), misuse, "there are no queries");
  EXPECT_BDNN_ERROR(ours(x.slice(0, 0), x, {.k = 5}), misuse, "for a database of 0 vectors");
}

TEST(GroundTruth, NumbersThatAreNotFiniteAreRefused) {
  const Vectors good = normal_floats(4, 5000, 0, 1);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> values(good.floats(0, 1, nullptr), good.floats(0, 1, nullptr) + 4 * 5000);
    values[4 * 4321 + 2] = values[4 * 4400] = bad;
    const Vectors broken(4, 5000, values);
    for (const Metric metric : {Metric::euclidean, Metric::cosine}) {
      EXPECT_BDNN_ERROR(ours(broken, good, {.k = 5, .metric = metric}), failure, "the database vectors have");
      EXPECT_BDNN_ERROR(ours(broken, good, {.k = 5, .metric = metric}), failure, "in row 4321, column 2");
      EXPECT_BDNN_ERROR(ours(good, broken, {.k = 5, .metric = metric}), failure, "the queries have");
      EXPECT_BDNN_ERROR(ours(good, broken, {.k = 5, .metric = metric}), failure, "in row 4321, column 2");
    }
  }
  const Vectors large = vectors_of<double>(2, Element::f64, {1, 2, 3, 1e160});
  EXPECT_BDNN_ERROR(ours(large, large, {.k = 1}), failure, "1e+160 in row 1, column 1");
}

TEST(GroundTruth, ZeroVectorsHaveNoCosine) {
  const Vectors good = normal_floats(2, 3, 0, 1);
  const Vectors zero(2, 3, {1, 2, 0, 0, 3, 4});
  EXPECT_BDNN_ERROR(ours(zero, good, {.k = 1, .metric = Metric::cosine}), failure, "row 1 of the database vectors");
  EXPECT_BDNN_ERROR(ours(good, zero, {.k = 1, .metric = Metric::cosine}), failure, "row 1 of the queries");
  expect_exact(zero, good, {.k = 3});
}

}  // namespace
}  // namespace bdnn
