// What a C++ user may hand to the library without meaning to: nothing at all, ranges past the end, sizes that overflow,
// objects that were moved from, absurd numbers of threads. Each gets an Error or a defined answer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bdnn/bdnn.h"
#include "expect_error.h"
#include "temporary_directory.h"

namespace bdnn {
namespace {

constexpr std::size_t kDimension = 6;

Vectors some_vectors(std::size_t count = 40) {
  std::vector<float> values(kDimension * count);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i * i));
  return {kDimension, count, std::move(values)};
}

Model some_model(std::size_t bits) { return train(some_vectors(), {.method = "itq", .bits = bits, .threads = 1}); }

Vectors no_vectors() { return {kDimension, 0, std::vector<float>()}; }
Codes no_codes(std::size_t bits) { return {bits, 0, std::vector<std::uint8_t>()}; }

constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();

TEST(NoCodes, AreSearchedByEveryPlan) {
  for (const std::size_t bits : {5, 16, 24, 200}) {
    const Codes queries(bits, 2, std::vector<std::uint8_t>(2 * bytes_for_bits(bits)));
    for (const Plan plan : {Plan::automatic, Plan::scan, bits <= 16 ? Plan::bucket : Plan::mih}) {
      for (const auto& options : {SearchOptions{.k = 3, .threads = 1, .plan = plan},
                                  SearchOptions{.radius = 2, .threads = 1, .plan = plan}}) {
        Results nothing;
        for (int query = 0; query < 2; ++query) nothing.append({});
        EXPECT_EQ(search(no_codes(bits), queries, options), nothing) << bits << " bits, " << name_of(plan);
        EXPECT_TRUE(search(queries, no_codes(bits), options).empty());
        EXPECT_TRUE(std::isfinite(explain(no_codes(bits), 2, options).microseconds));
        EXPECT_TRUE(std::isfinite(explain(queries, 0, options).microseconds));
      }
    }
  }
}

TEST(NoCodes, OfNoLengthAreSearchedForNothing) {
  EXPECT_TRUE(search(Codes(), Codes()).empty());
  EXPECT_EQ(explain(Codes(), 5).plan, Plan::scan);
  EXPECT_BDNN_ERROR(search(Codes(), no_codes(8)), misuse, "the queries have 8 bits, the database has 0");
}

TEST(NoCodes, AreIndexedAndSearched) {
  const Codes queries(24, 1, std::vector<std::uint8_t>(3));
  for (const auto tables : {IndexOptions::Tables::always, IndexOptions::Tables::never}) {
    const Index index = Index::build(no_codes(24), {}, {.tables = tables, .threads = 1});
    EXPECT_EQ(index.size(), 0U);
    Searcher searcher(1);
    Results results;
    searcher.search(index, queries, {.k = 3}, results);
    ASSERT_EQ(results.size(), 1U);
    EXPECT_TRUE(results[0].empty());
    searcher.search(index, no_codes(24), {.k = 3}, results);
    EXPECT_EQ(results.size(), 0U);
  }
  EXPECT_BDNN_ERROR(Index::build(Codes()), misuse, "0 bits");
}

TEST(NoCodes, AreScanned) {
  const Model model = some_model(4);
  const Codes codes = encode(model, some_vectors(3), 1);
  RankedResults results;
  SphericalScan(no_codes(4), 1).search(codes, 2, results, 1);
  ASSERT_EQ(results.size(), 3U);
  EXPECT_TRUE(results[0].empty());
  SphericalScan(codes, 1).search(no_codes(4), 2, results, 1);
  EXPECT_EQ(results.size(), 0U);
  for (const RankBy by : {RankBy::asymmetric, RankBy::reconstruction}) {
    ScoreScan(model, by, no_codes(4), 1).search(some_vectors(3), 2, results, 1);
    ASSERT_EQ(results.size(), 3U);
    EXPECT_TRUE(results[0].empty());
    ScoreScan(model, by, codes, 1).search(no_vectors(), 2, results, 1);
    EXPECT_EQ(results.size(), 0U);
    Results shortlists;
    rerank(shortlists, CodeRanking(model, by, no_codes(4), no_vectors()), 2, 1, results);
    EXPECT_EQ(results.size(), 0U);
  }
  rerank(Results(), SphericalRanking(no_codes(4), no_codes(4)), 2, 1, results);
  EXPECT_EQ(results.size(), 0U);
  EXPECT_BDNN_ERROR(SphericalScan(Codes(), 1), misuse, "0 bits");
  EXPECT_BDNN_ERROR(ScoreScan(model, RankBy::asymmetric, Codes(), 1), misuse, "the codes have 0 bits");
}

TEST(NoVectors, AreEncodedAndRebuilt) {
  const Model model = some_model(4);
  const Codes codes = encode(model, no_vectors(), 1);
  EXPECT_EQ(codes.size(), 0U);
  EXPECT_EQ(codes.bits(), 4U);
  EXPECT_EQ(encode(model, no_vectors(), {.refined = true, .threads = 1}).size(), 0U);
  EXPECT_EQ(outputs(model, no_vectors(), 1).size(), 0U);
  EXPECT_EQ(reconstruct(model, codes, 1).dimension(), kDimension);
  EXPECT_EQ(reconstruct(model, codes, 1).size(), 0U);
  EXPECT_BDNN_ERROR(encode(model, Vectors(), 1), misuse, "dimension 0, the model expects 6");
  EXPECT_BDNN_ERROR(reconstruct(model, Codes(), 1), misuse, "the codes have 0 bits");
  EXPECT_BDNN_ERROR(train(no_vectors(), {.method = "itq", .bits = 2}), misuse, "no vectors to train on");
  EXPECT_BDNN_ERROR(train(Vectors(), {.method = "itq", .bits = 2}), misuse, "no vectors to train on");
  const QuantizationDiagnostics diagnosed = diagnose_quantization(model, no_vectors(), 1);
  EXPECT_EQ(diagnosed.mean_magnitude, 0);
  EXPECT_EQ(diagnosed.error, 0);
  EXPECT_BDNN_ERROR(diagnose_quantization(model, Vectors(), 1), misuse, "dimension 0");
}

TEST(NoVectors, AreNotEvaluated) {
  Progress silent;
  EXPECT_BDNN_ERROR(diagnose_codes(no_codes(4), 1), misuse, "no codes");
  EXPECT_BDNN_ERROR(diagnose_codes(Codes(), 1), misuse, "no codes");
  EXPECT_EQ(correlation_map(CodesDiagnostics()), "");
  EXPECT_EQ(summary_of(CodesDiagnostics()), "0 codes: 0 distinct, no constant bits");
  for (const Vectors& none : {no_vectors(), Vectors()}) {
    EXPECT_THROW(exact_neighbours(none, some_vectors(), {.k = 1, .threads = 1}, silent), Error);
    EXPECT_THROW(exact_neighbours(some_vectors(), none, {.k = 1, .threads = 1}, silent), Error);
  }
  const Codes one(4, 1, std::vector<std::uint8_t>(1));
  const auto relevance = Relevance::labels({}, {});
  for (const RankBy by : {RankBy::hamming, RankBy::spherical}) {
    EXPECT_THROW(evaluate_codes(no_codes(4), one, Relevance::labels({}, {1}), {}, silent, by), Error);
    EXPECT_THROW(evaluate_codes(one, no_codes(4), Relevance::labels({1}, {}), {}, silent, by), Error);
    EXPECT_THROW(evaluate_codes(Codes(), Codes(), relevance, {}, silent, by), Error);
  }
  const Model model = some_model(4);
  EXPECT_THROW(evaluate_scores(model, RankBy::asymmetric, no_codes(4), no_vectors(), relevance, {}, silent), Error);
}

TEST(NoCodes, AreReadBackFromTheirFile) {
  const testing::TemporaryDirectory directory;
  for (const std::string name : {"x.codes", "x.npy"}) {
    save_codes(no_codes(16), directory / name);
    const Codes back = load_codes(directory / name);
    EXPECT_EQ(back.size(), 0U) << name;
    EXPECT_EQ(back.bits(), 16U) << name;
  }
  EXPECT_EQ(map_codes(directory / "x.codes").size(), 0U);
  EXPECT_BDNN_ERROR(save_codes(no_codes(16), directory / "x.bvecs"), misuse, "cannot hold an empty set");
  EXPECT_BDNN_ERROR(save_codes(Codes(), directory / "y.codes"), misuse, "0 bits");
}

TEST(NoVectors, AreReadBackFromTheFilesTheyAreRebuiltIn) {
  const testing::TemporaryDirectory directory;
  Progress silent;
  const Model model = some_model(4);
  save_codes(no_codes(4), directory / "x.codes");
  for (const std::string name : {"x.npy", "x.idx", "x.hdf5", "x.mat", "x.mat73"}) {
    EXPECT_EQ(reconstruct_file(model, directory / "x.codes", directory / name, "", 1, silent).count, 0U) << name;
    const Vectors back = load_vectors(directory / name);
    EXPECT_EQ(back.size(), 0U) << name;
    EXPECT_EQ(back.dimension(), kDimension) << name;
    EXPECT_EQ(encode_file(model, directory / name, directory / "y.codes", {.threads = 1}, silent), 0U) << name;
    EXPECT_EQ(reconstruct_file(model, directory / "y.codes", "", directory / name, 1, silent).error, 0) << name;
  }
  for (const std::string name : {"x.fvecs", "x.csv"}) {
    EXPECT_BDNN_ERROR(reconstruct_file(model, directory / "x.codes", directory / name, "", 1, silent), misuse,
                      "cannot hold an empty set");
  }
}

TEST(Vectors, RefuseWhatCannotBe) {
  const Vectors vectors = some_vectors(4);
  EXPECT_EQ(vectors.slice(4, 0).size(), 0U);
  EXPECT_EQ(vectors.slice(1, 3).size(), 3U);
  EXPECT_BDNN_ERROR(vectors.slice(1, 4), misuse, "4 vectors starting at number 1 were requested, but there are only 4");
  EXPECT_BDNN_ERROR(vectors.slice(5, 0), misuse, "starting at number 5");
  EXPECT_BDNN_ERROR(vectors.slice(1, kHuge), misuse, "but there are only 4");
  EXPECT_BDNN_ERROR(Vectors(kHuge / 2 + 1, 2, std::vector<float>()), misuse, "0 values were given");
  EXPECT_BDNN_ERROR(Vectors({kHuge / 4, 2, Element::f32}, nullptr), misuse, "more than memory can hold");
  EXPECT_BDNN_ERROR(Vectors::view(static_cast<const float*>(nullptr), 2, 2), misuse, "without their elements");
  EXPECT_EQ(Vectors::view(static_cast<const float*>(nullptr), 2, 0).size(), 0U);
}

TEST(Codes, RefuseWhatCannotBe) {
  const Codes codes(8, 4, std::vector<std::uint8_t>(4));
  EXPECT_EQ(codes.slice(4, 0).size(), 0U);
  EXPECT_BDNN_ERROR(codes.slice(1, kHuge), misuse, "but there are only 4");
  EXPECT_BDNN_ERROR(Codes(16, kHuge / 2 + 1, std::vector<std::uint8_t>()), misuse, "0 bytes were given");
  EXPECT_BDNN_ERROR(Codes(16, kHuge / 2 + 1, std::shared_ptr<const std::uint8_t>()), misuse, "more than memory");
  EXPECT_BDNN_ERROR(Codes(16, 1, std::shared_ptr<const std::uint8_t>()), misuse, "without their bytes");
}

TEST(MovedFrom, ValuesAreEmpty) {
  Codes codes(8, 4, std::vector<std::uint8_t>(4));
  const Codes taken = std::move(codes);
  EXPECT_EQ(taken.size(), 4U);
  EXPECT_EQ(codes.size(), 0U);  // NOLINT: the use after the move is what is tested
  EXPECT_EQ(codes.bits(), 0U);
  EXPECT_TRUE(search(codes, codes).empty());
  codes = taken;
  EXPECT_EQ(codes.size(), 4U);
  Vectors vectors = some_vectors(4);
  const Vectors moved = std::move(vectors);
  EXPECT_EQ(moved.size(), 4U);
  EXPECT_EQ(vectors.size(), 0U);  // NOLINT
  vectors = moved;
  EXPECT_EQ(vectors.size(), 4U);
}

template <class Object, class Use>
void expect_unusable_after_a_move(Object object, const Use& use) {
  Object taken = std::move(object);
  EXPECT_BDNN_ERROR(use(object), misuse, "was moved from");  // NOLINT
  object = std::move(taken);
  use(object);
}

TEST(MovedFrom, ObjectsRaiseErrorAndCanBeAssignedTo) {
  const Model model = some_model(4);
  const Vectors vectors = some_vectors(3);
  const Codes codes = encode(model, vectors, 1);
  Results results;
  RankedResults ranked;
  expect_unusable_after_a_move(Encoder(model, {.threads = 1}), [&](Encoder& e) { e.encode(vectors); });
  expect_unusable_after_a_move(Encoder(model, {.threads = 1}), [&](Encoder& e) { e.bits(); });
  expect_unusable_after_a_move(Index::build(codes), [&](Index& i) { i.size(); });
  expect_unusable_after_a_move(Index::build(codes), [&](Index& i) { Searcher(1).search(i, codes, {}, results); });
  const Index index = Index::build(codes);
  expect_unusable_after_a_move(Searcher(1), [&](Searcher& s) { s.search(index, codes, {}, results); });
  expect_unusable_after_a_move(Filter(index, std::span<const std::uint64_t>()),
                               [&](Filter& f) { Searcher(1).search(index, codes, {}, results, &f); });
  expect_unusable_after_a_move(Reranker(1),
                               [&](Reranker& r) { r.rank(results, SphericalRanking(codes, codes), 1, ranked); });
  expect_unusable_after_a_move(SphericalScan(codes, 1), [&](SphericalScan& s) { s.search(codes, 1, ranked, 1); });
  expect_unusable_after_a_move(CodeScorer(model, RankBy::asymmetric), [&](CodeScorer& s) { s.by(); });
  expect_unusable_after_a_move(ScoreScan(model, RankBy::asymmetric, codes, 1),
                               [&](ScoreScan& s) { s.search(vectors, 1, ranked, 1); });
  const SphericalScan spherical(codes, 1);
  expect_unusable_after_a_move(SphericalSearcher(1),
                               [&](SphericalSearcher& s) { s.search(spherical, codes, 1, ranked); });
  const ScoreScan scan(model, RankBy::asymmetric, codes, 1);
  expect_unusable_after_a_move(ScoreSearcher(1), [&](ScoreSearcher& s) { s.search(scan, vectors, 1, ranked); });
}

TEST(Threads, NegativeAndAbsurdNumbersAreRefused) {
  const Codes codes(8, 4, std::vector<std::uint8_t>(4));
  for (const int threads : {-1, std::numeric_limits<int>::min(), 4097, 100'000, std::numeric_limits<int>::max()}) {
    const std::string text = fmt::format("{} threads are not possible; ask for 1 to 4096", threads);
    EXPECT_BDNN_ERROR(search(codes, codes, {.threads = threads}), misuse, text);
    EXPECT_BDNN_ERROR(train(some_vectors(), {.method = "itq", .bits = 2, .threads = threads}), misuse, text);
    EXPECT_BDNN_ERROR(Searcher{threads}, misuse, text);
    EXPECT_BDNN_ERROR(diagnose_codes(codes, threads), misuse, text);
  }
  EXPECT_EQ(search(codes, codes, {.k = 1, .threads = 4096}).size(), 4U);  // as many as are of use
}

}  // namespace
}  // namespace bdnn
