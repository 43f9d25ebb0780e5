// Runs under ThreadSanitizer: parts of the codes go to several threads, which share what they found.
// The scan by lookup tables against computing every score.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "base/simd_target.h"
#include "bdnn/encode.h"
#include "bdnn/methods.h"
#include "bdnn/scores.h"
#include "codes/bit_groups.h"
#include "codes/lookup_scan.h"
#include "expect_error.h"
#include "linalg/aligned.h"
#include "sanitized.h"
#include "temporary_directory.h"

namespace bdnn {
namespace {

// Slow: a bound that leaves out too much shows in few of the cases, and each computes every score.
constexpr std::uint64_t kScoreCases = testing::kUnderThreadSanitizer || testing::kUnderAddressSanitizer ? 40 : 1000;

Layer random_layer(std::size_t inputs, std::size_t outputs, Random& random) {
  Layer layer{inputs, outputs, std::vector<float>(inputs * outputs), std::vector<float>(outputs)};
  for (float& entry : layer.weight) entry = static_cast<float>(random.normal());
  for (float& entry : layer.bias) entry = static_cast<float>(random.normal());
  return layer;
}

Vectors random_vectors(std::size_t dimension, std::size_t count, Random& random) {
  std::vector<float> values(dimension * count);
  for (float& entry : values) entry = static_cast<float>(3 * random.normal());
  return {dimension, count, std::move(values)};
}

Codes random_codes(std::size_t bits, std::size_t count, Random& random) {
  const std::size_t bytes = (bits + 7) / 8;
  const std::size_t distinct = 1 + random.below(2 * count + 1);  // ties come with few
  std::vector<std::uint8_t> pool(bytes * distinct);
  for (auto& byte : pool) byte = static_cast<std::uint8_t>(random.bits());
  std::vector<std::uint8_t> codes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* code = pool.data() + random.below(distinct) * bytes;
    codes.insert(codes.end(), code, code + bytes);
    if (bits % 8 != 0) codes.back() = static_cast<std::uint8_t>(codes.back() & ((1U << bits % 8) - 1));
  }
  return {bits, count, std::move(codes)};
}

struct ScoreCase {
  Model model;
  Codes codes;
  Vectors queries;
  std::size_t k;
  RankBy by;
};

ScoreCase random_score_case(std::uint64_t seed) {
  Random random(seed);
  const bool many = random.below(40) == 0;
  const std::size_t most = many && random.below(2) == 0 ? 24 : 140;  // in many short codes bounds are tightest
  const std::size_t bits = random.below(3) == 0 ? 8 * (1 + random.below(most < 140 ? 3 : 32)) : 1 + random.below(most);
  const std::size_t dimension = 1 + random.below(40);
  const std::size_t count = many ? 33000 + random.below(8000) : random.below(400);
  ScoreCase c;
  c.model.function = Network{{random_layer(dimension, bits, random)}};
  const std::size_t group = random.below(2) == 0 ? 1 : bits > 80 || random.below(2) == 0 ? 4 : 8;
  c.model.decoder = Decoder{random_layer(BitGroups(bits, group).features(), dimension, random), group};
  c.codes = random_codes(bits, count, random);
  // A batch of many queries shares its lookup tables, and one of more than 32 is two batches.
  const std::size_t most_queries = count > 400 ? 3 : random.below(8) == 0 ? 40 : 9;
  c.queries = random_vectors(dimension, 1 + random.below(most_queries), random);
  c.k = 1 + random.below(random.below(3) == 0 ? std::min<std::size_t>(count, 400) + 5 : 20);
  c.by = random.below(3) == 0 ? RankBy::asymmetric : RankBy::reconstruction;
  return c;
}

// From the definition, vector by vector, in double.
double naive_score(const ScoreCase& c, std::size_t query, std::size_t id) {
  const float* q = c.queries.floats(query, 1, nullptr);
  const Layer& layer = c.by == RankBy::asymmetric ? std::get<Network>(c.model.function).layers[0] : *c.model.decoder;
  const auto bit = [&](std::size_t k) { return (c.codes[id][k / 8] >> (k % 8) & 1) != 0 ? 1.0 : -1.0; };
  std::vector<double> features;
  const std::size_t group = c.model.decoder->group;
  for (std::size_t first = 0; first < c.codes.bits(); first += group) {
    for (std::size_t s = 1; s < std::size_t{1} << std::min(group, c.codes.bits() - first); ++s) {
      features.push_back(1);
      for (std::size_t k = 0; k < group; ++k) {
        if ((s >> k & 1) != 0) features.back() *= bit(first + k);
      }
    }
  }
  double sum = 0;
  for (std::size_t row = 0; row < layer.outputs; ++row) {
    double value = static_cast<double>(layer.bias[row]);
    for (std::size_t k = 0; k < layer.inputs; ++k) {
      value += static_cast<double>(layer.weight[row * layer.inputs + k]) *
               (c.by == RankBy::asymmetric ? static_cast<double>(q[k]) : features[k]);
    }
    const double difference = value - (c.by == RankBy::asymmetric ? bit(row) : static_cast<double>(q[row]));
    sum += difference * difference;
  }
  return sum;
}

class ScoreScanTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_simd_target(GetParam()); }
  void TearDown() override { force_simd_target(""); }
};

TEST_P(ScoreScanTest, EqualsComputingEveryScoreOnRandomCases) {
  RankedResults found;
  RankedResults ranked;
  for (std::uint64_t seed = 0; seed < kScoreCases; ++seed) {
    const ScoreCase c = random_score_case(seed);
    const ScoreScan scan(c.model, c.by, c.codes, 1 + static_cast<int>(seed % 3));
    scan.search(c.queries, c.k, found, 1 + static_cast<int>(seed % 4));
    // All codes as one shortlist.
    std::vector<Neighbour> all(c.codes.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i].id = i;
    Results everything;
    for (std::size_t q = 0; q < c.queries.size(); ++q) everything.append(all);
    rerank(everything, CodeRanking(c.model, c.by, c.codes, c.queries), c.k, 1, ranked);
    ASSERT_EQ(found.size(), ranked.size());
    for (std::size_t q = 0; q < found.size(); ++q) {
      ASSERT_EQ(found[q].size(), std::min(c.k, c.codes.size())) << seed;
      for (std::size_t i = 0; i < found[q].size(); ++i) {
        ASSERT_EQ(found[q][i].id, ranked[q][i].id) << "case " << seed << ", query " << q << ", rank " << i;
        ASSERT_EQ(found[q][i].score, ranked[q][i].score);
      }
    }
  }
}

TEST_P(ScoreScanTest, ScoresAreThoseOfTheDefinition) {
  RankedResults found;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const ScoreCase c = random_score_case(seed);
    ScoreScan(c.model, c.by, c.codes, 1).search(c.queries, c.k, found, 1);
    const Codes query_codes = encode(c.model, c.queries);
    for (std::size_t q = 0; q < found.size(); ++q) {
      double last = 0;
      for (const auto& [id, score, distance] : found[q]) {
        const double expected = naive_score(c, q, id);
        ASSERT_NEAR(score, expected, 2e-4 * (1 + expected)) << "case " << seed;
        ASSERT_GE(score, last);
        last = score;
        ASSERT_EQ(distance, hamming_distance(query_codes[q], c.codes[id]));
      }
    }
  }
}

TEST(ScoreScan, AScoreIsTheDistanceToTheRebuiltVector) {
  RankedResults found;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const ScoreCase c = random_score_case(seed);
    if (c.by != RankBy::reconstruction || c.codes.size() > 400) continue;
    ScoreScan(c.model, c.by, c.codes, 1).search(c.queries, c.k, found, 1);
    const Vectors rebuilt = reconstruct(c.model, c.codes);
    for (std::size_t q = 0; q < found.size(); ++q) {
      for (const auto& [id, score, distance] : found[q]) {
        double expected = 0;
        for (std::size_t k = 0; k < c.model.dimension(); ++k) {
          const float difference = c.queries.floats(q, 1, nullptr)[k] - rebuilt.floats(id, 1, nullptr)[k];
          expected += std::pow(static_cast<double>(difference), 2);
        }
        ASSERT_NEAR(score, expected, 2e-4 * (1 + expected)) << "case " << seed;
      }
    }
  }
}

// Short codes sum up few lookup tables, so that nothing that a bound leaves out is hidden by what was rounded.
TEST(ScoreScan, BoundsFromASampleHoldForShortCodes) {
  RankedResults found;
  RankedResults ranked;
  for (const std::size_t group : {1, 4, 8}) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      Random random(seed);
      ScoreCase c;
      c.model.function = Network{{random_layer(8, 8, random)}};
      c.model.decoder = Decoder{random_layer(BitGroups(8, group).features(), 8, random), group};
      c.codes = random_codes(8, 34000, random);
      const std::size_t queries = seed % 4 == 0 ? 24 : seed % 4 == 1 ? 2 : 8;  // with shared lookup tables or without
      c.queries = random_vectors(8, queries, random);
      const std::size_t k = 1 + 9 * (seed % 2);
      ScoreScan(c.model, RankBy::reconstruction, c.codes).search(c.queries, k, found, 1);
      std::vector<Neighbour> all(c.codes.size());
      for (std::size_t i = 0; i < all.size(); ++i) all[i].id = i;
      Results everything;
      for (std::size_t q = 0; q < queries; ++q) everything.append(all);
      rerank(everything, CodeRanking(c.model, RankBy::reconstruction, c.codes, c.queries), k, 1, ranked);
      for (std::size_t q = 0; q < queries; ++q) {
        ASSERT_TRUE(std::equal(found[q].begin(), found[q].end(), ranked[q].begin(), ranked[q].end(),
                               [](const Ranked& a, const Ranked& b) { return a.id == b.id && a.score == b.score; }))
            << group << ", " << seed;
      }
    }
  }
}

TEST(ScoreScan, DistancesThatOverflowAreRefused) {
  for (const std::size_t group : {1, 4, 8}) {
    Random random(2);
    ScoreCase c;
    c.model.function = Network{{random_layer(5, 8, random)}};
    c.model.decoder = Decoder{random_layer(BitGroups(8, group).features(), 5, random), group};
    c.codes = random_codes(8, 100, random);
    RankedResults results;
    const Vectors large(5, 1, std::vector<float>(5, 1e30F));
    for (float& weight : c.model.decoder->weight) weight = 1e10F;
    EXPECT_BDNN_ERROR(ScoreScan(c.model, RankBy::reconstruction, c.codes).search(large, 1, results), failure,
                      "so large that its distances overflow");
    for (float& weight : c.model.decoder->weight) weight = 3e38F;
    EXPECT_BDNN_ERROR(ScoreScan(c.model, RankBy::reconstruction, c.codes), failure, "distances overflow");
    const Codes codes = encode(c.model, random_vectors(5, 50, random), {.refined = true});  // comes to an end
    EXPECT_EQ(codes.size(), 50U);
  }
}

TEST_P(ScoreScanTest, SumsOfLookupTablesStayAtTheirLargestValue) {
  Random random(3);
  for (const LookupWidth width : {LookupWidth::four_bits, LookupWidth::eight_bits}) {
    for (const std::size_t rows : {1, 2, 5, 9}) {
      const std::size_t blocks = 3;
      std::vector<std::uint8_t> codes(rows * blocks * 64 + 64);
      auto* aligned = reinterpret_cast<std::uint8_t*>((reinterpret_cast<std::uintptr_t>(codes.data()) + 63) / 64 * 64);
      for (std::size_t i = 0; i < rows * blocks * 64; ++i) aligned[i] = static_cast<std::uint8_t>(random.bits());
      std::vector<std::uint8_t> values(rows * values_per_byte(width));
      for (auto& value : values) value = static_cast<std::uint8_t>(random.below(1 + random.below(256)));
      std::vector<std::uint8_t> sums(blocks * 64);
      sum_lookup_tables(width, aligned, rows, blocks, values.data(), sums.data());
      std::vector<std::uint32_t> found(blocks * 64);
      ByteLookupTables query{values.data(), 120, found.data(), 0};
      scan_lookup_sums(width, aligned, rows, blocks, &query, 1);
      std::size_t next = 0;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        unsigned sum = 0;
        for (std::size_t row = 0; row < rows; ++row) {
          const std::uint8_t byte = aligned[(i / 64 * rows + row) * 64 + i % 64];
          sum += width == LookupWidth::eight_bits
                     ? values[row * 256 + byte]
                     : values[row * 32 + (byte & 15U)] + values[row * 32 + 16 + (byte >> 4U)];
        }
        ASSERT_EQ(sums[i], std::min(sum, 255U));
        if (sum <= 120) {
          ASSERT_EQ(found.at(next++), i);
        }
      }
      ASSERT_EQ(query.found_count, next);
    }
  }
}

TEST_P(ScoreScanTest, SharedLookupTablesGiveTheSumsOfEachQuery) {
  Random random(4);
  for (const std::size_t rows : {1, 2, 5, 9}) {
    for (const std::size_t count : {1, 3, 20, 31, 32}) {
      const std::size_t blocks = 1 + random.below(3);
      AlignedBuffer<std::uint8_t> codes(rows * blocks * 64);
      for (std::size_t i = 0; i < rows * blocks * 64; ++i) codes.data()[i] = static_cast<std::uint8_t>(random.bits());
      AlignedBuffer<std::uint8_t> values(rows * 256 * 32);
      const std::uint64_t most = 256 / rows + random.below(100);
      for (std::size_t i = 0; i < rows * 256 * 32; ++i) {
        values.data()[i] = static_cast<std::uint8_t>(random.below(std::min<std::uint64_t>(most, 256)));
      }
      std::vector<std::uint8_t> sums(blocks * 64 * 32);
      sum_shared_lookup_tables(codes.data(), rows, blocks, values.data(), sums.data());
      std::vector<ByteLookupTables> queries(count);
      std::vector<std::vector<std::uint32_t>> found(count, std::vector<std::uint32_t>(blocks * 64));
      for (std::size_t q = 0; q < count; ++q) {
        queries[q] = {nullptr, static_cast<std::uint8_t>(random.below(255)), found[q].data(), 0};
      }
      scan_shared_lookup_sums(codes.data(), rows, blocks, values.data(), queries.data(), count);
      for (std::size_t q = 0; q < 32; ++q) {
        std::vector<std::uint32_t> expected;
        for (std::size_t i = 0; i < blocks * 64; ++i) {
          unsigned sum = 0;
          for (std::size_t row = 0; row < rows; ++row) {
            const std::uint8_t byte = codes.data()[(i / 64 * rows + row) * 64 + i % 64];
            sum += values.data()[(row * 256 + byte) * 32 + q];
          }
          ASSERT_EQ(sums[i * 32 + q], std::min(sum, 255U));
          if (q < count && sum <= queries[q].limit) expected.push_back(static_cast<std::uint32_t>(i));
        }
        if (q >= count) continue;
        found[q].resize(queries[q].found_count);
        ASSERT_EQ(found[q], expected) << rows << " rows, query " << q << " of " << count;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ScoreScanTest, ::testing::ValuesIn(simd_targets()),
                         [](const auto& target) { return target.param; });

TEST(ScoreScan, ThreadsChangeNothing) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const ScoreCase c = random_score_case(seed);
    if (c.codes.size() < 33000) continue;
    RankedResults one;
    RankedResults many;
    const ScoreScan scan(c.model, c.by, c.codes, 1);
    for (const std::size_t queries : {std::size_t{1}, c.queries.size()}) {
      scan.search(c.queries.slice(0, queries), c.k, one, 1);
      scan.search(c.queries.slice(0, queries), c.k, many, 7);
      for (std::size_t q = 0; q < queries; ++q) {
        ASSERT_TRUE(std::equal(one[q].begin(), one[q].end(), many[q].begin(), many[q].end()));
      }
    }
  }
}

// An index finds codes by id or name, in whatever piece they are, and not what was removed.
TEST(ScoreScan, AnIndexIsRankedByTheCodesItHolds) {
  Random random(9);
  const ScoreCase c = random_score_case(7);
  const Codes codes = random_codes(c.model.bits(), 300, random);
  const auto part = [&](std::size_t first, std::size_t count) {
    const std::uint8_t* from = codes[first].data();
    return Codes(codes.bits(), count, std::vector(from, from + count * codes.bytes_per_code()));
  };
  const testing::TemporaryDirectory directory;
  for (const bool named : {false, true}) {
    // Code i has the id 2 i or the name "n" and three digits: in both cases their order is that of i.
    const auto keys = [&](std::size_t first, std::size_t count) {
      IndexKeys all;
      for (std::size_t i = first; i < first + count; ++i) {
        if (named) all.names.push_back(fmt::format("n{:03}", i));
        if (!named) all.ids.push_back(2 * i);
      }
      return all;
    };
    const std::string path = directory / "x.index";
    build_index(path, part(0, 200), keys(0, 200));
    add_to_index(path, part(200, 100), keys(200, 100));
    remove_from_index(path, keys(50, 1));
    const Index index = Index::open(path);
    Results found;
    Searcher(1).search(index, encode(c.model, c.queries), {.k = 299}, found);
    RankedResults ranked;
    rerank(found, CodeRanking(c.model, RankBy::reconstruction, index, c.queries), 299, 1, ranked);
    std::vector<Neighbour> all;
    for (std::size_t i = 0; i < 300; ++i) {
      if (i != 50) all.push_back({i, 0});
    }
    Results everything;
    for (std::size_t q = 0; q < c.queries.size(); ++q) everything.append(all);
    RankedResults expected;
    rerank(everything, CodeRanking(c.model, RankBy::reconstruction, codes, c.queries), 299, 1, expected);
    for (std::size_t q = 0; q < c.queries.size(); ++q) {
      ASSERT_EQ(ranked[q].size(), 299U);
      for (std::size_t i = 0; i < 299; ++i) ASSERT_EQ(ranked[q][i].score, expected[q][i].score);
      const std::size_t best = expected[q][0].id;
      EXPECT_EQ(named ? std::string(index.name(ranked[q][0].id)) : fmt::format("{}", ranked[q][0].id),
                named ? fmt::format("n{:03}", best) : fmt::format("{}", 2 * best));
    }
    EXPECT_BDNN_ERROR(CodeRanking(c.model, RankBy::reconstruction, index, c.queries)
                          .score(0, std::vector<Neighbour>{{named ? 50U : 100U, 0}}, std::vector<double>(1).data()),
                      misuse, "there is no code");
  }
}

TEST(ScoreScan, WhatDoesNotFitIsRefused) {
  Random random(1);
  ScoreCase c = random_score_case(7);
  const Decoder decoder = *c.model.decoder;
  c.model.decoder->group = 3;
  EXPECT_BDNN_ERROR(ScoreScan(c.model, RankBy::reconstruction, c.codes), misuse, "1 is possible, 4 up to");
  c.model.decoder->group = decoder.group == 4 ? 8 : 4;
  EXPECT_BDNN_ERROR(ScoreScan(c.model, RankBy::reconstruction, c.codes), misuse, "the decoder does not fit");
  c.model.decoder = decoder;
  const std::size_t dimension = c.model.dimension();
  RankedResults results;
  const ScoreScan scan(c.model, RankBy::reconstruction, c.codes);
  EXPECT_BDNN_ERROR(scan.search(c.queries, 0, results), misuse, "ask for at least 1");
  EXPECT_BDNN_ERROR(scan.search(random_vectors(dimension + 1, 2, random), 1, results), misuse,
                    "the queries have dimension");
  EXPECT_BDNN_ERROR(ScoreScan(c.model, RankBy::hamming, c.codes), misuse, "Hamming distance");
  EXPECT_BDNN_ERROR(ScoreScan(c.model, RankBy::spherical, c.codes), misuse, "by SphericalScan");
  EXPECT_BDNN_ERROR(ScoreScan(c.model, RankBy::reconstruction, random_codes(c.model.bits() + 1, 3, random)), misuse,
                    "the model's have");
  std::vector<float> bad(c.model.dimension(), 1.0F);
  bad.back() = std::numeric_limits<float>::quiet_NaN();
  EXPECT_BDNN_ERROR(scan.search(Vectors(c.model.dimension(), 1, bad), 1, results), failure, "query 0 has nan");
  c.model.decoder.reset();
  EXPECT_BDNN_ERROR(ScoreScan(c.model, RankBy::reconstruction, c.codes), misuse, "has no decoder");
  ProductQuantizer quantizer;
  quantizer.projection = {1, 1, {1}, {0}};
  quantizer.parts = {{1, 1, {-1, 1}}};
  Model without_outputs;
  without_outputs.function = quantizer;
  const Codes one_bit(1, 1, std::vector<std::uint8_t>(1));
  EXPECT_BDNN_ERROR(ScoreScan(without_outputs, RankBy::asymmetric, one_bit), misuse,
                    "asymmetric distance needs outputs before the sign, and the model's hash function has none; rank "
                    "by hamming or reconstruction");
  EXPECT_BDNN_ERROR(rank_by_name("cosine"), misuse,
                    "unknown ranking 'cosine'; choose hamming, spherical, asymmetric or reconstruction");
  scan.search(random_vectors(dimension, 0, random), 3, results);
  EXPECT_EQ(results.size(), 0U);
  scan.search(random_vectors(dimension, 2, random), std::numeric_limits<std::size_t>::max(), results);
  EXPECT_EQ(results[1].size(), scan.size());
}

TEST(ScoreScan, RefinedCodesAreNearerToTheirVectors) {
  Random random(5);
  const Vectors x = random_vectors(20, 3000, random);
  const Model model = train(x, {.method = "lsh", .bits = 24});  // its hyperplanes overlap
  double last = std::numeric_limits<double>::max();
  for (const EncodeOptions& options :
       {EncodeOptions{}, EncodeOptions{.refined = true, .local_search = 0}, EncodeOptions{.refined = true}}) {
    const Codes codes = encode(model, x, options);
    EXPECT_EQ(codes.origin().refined, options.refined);
    const Vectors rebuilt = reconstruct(model, codes);
    double error = 0;
    for (std::size_t i = 0; i < 3000 * 20; ++i) {
      error += std::pow(static_cast<double>(x.floats(0, 3000, nullptr)[i] - rebuilt.floats(0, 3000, nullptr)[i]), 2);
    }
    EXPECT_LT(error, 0.99 * last);
    last = error;
  }
}

}  // namespace
}  // namespace bdnn
