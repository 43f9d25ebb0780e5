// Runs under ThreadSanitizer: subspaces are trained on several threads.
#include "methods/kmh/kmh.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "bdnn/encode.h"
#include "bdnn/methods.h"
#include "expect_error.h"
#include "methods/kmh/codebook.h"
#include "methods/progress_testing.h"
#include "model/model_file.h"

namespace bdnn {
namespace {

// Samples with an index each, and the sums that the objective is computed from.
struct Assigned {
  MatrixXd x;
  std::vector<Eigen::Index> indices;
  Codebook book;
  CellSums cells;
};

// Codewords near the corners of a cube; the last one has no samples.
Assigned random_assigned(Eigen::Index dimension, std::size_t bits, std::uint64_t seed) {
  Random random(seed);
  Assigned made;
  made.x.resize(dimension, 60);
  for (double& value : made.x.reshaped()) value = 3 * random.normal();
  made.book = cube_codebook(static_cast<std::size_t>(dimension), bits, 1.5);
  for (double& value : made.book.codewords.reshaped()) value += random.normal();
  const Eigen::Index codewords = made.book.codewords.cols();
  made.cells = {VectorXd::Zero(codewords), MatrixXd::Zero(dimension, codewords)};
  for (Eigen::Index i = 0; i < made.x.cols(); ++i) {
    made.indices.push_back(static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(codewords - 1))));
    made.cells.counts[made.indices.back()] += 1;
    made.cells.sums.col(made.indices.back()) += made.x.col(i);
  }
  return made;
}

// E as it is defined, less the mean of ||x||^2.
double naive_objective(const Assigned& made, double lambda) {
  const auto n = static_cast<double>(made.x.cols());
  const MatrixXd& c = made.book.codewords;
  double quantization = -made.x.squaredNorm() / n;
  for (Eigen::Index i = 0; i < made.x.cols(); ++i) {
    quantization += (made.x.col(i) - c.col(made.indices[static_cast<std::size_t>(i)])).squaredNorm() / n;
  }
  double affinity = 0;
  for (const Eigen::Index a : made.indices) {
    for (const Eigen::Index b : made.indices) {  // over pairs of samples, which gives pairs of codewords their weights
      const auto differing = static_cast<double>(std::popcount(static_cast<std::size_t>(a ^ b)));
      affinity += std::pow((c.col(a) - c.col(b)).norm() - 2 * made.book.scale * std::sqrt(differing), 2) / (n * n);
    }
  }
  return quantization + lambda * affinity;
}

double objective(const Assigned& made, double lambda) {
  return quantization_error(made.book, made.cells) + lambda * affinity_error(made.book, made.cells);
}

TEST(Codebook, ACubeHasTheDistancesOfItsIndices) {
  const Codebook book = cube_codebook(5, 3, 0.5);
  ASSERT_EQ(book.codewords.cols(), 8);
  EXPECT_EQ(book.codewords.col(6), (VectorXd(5) << -0.5, 0.5, 0.5, 0, 0).finished());
  const CellSums cells{VectorXd::LinSpaced(8, 1, 8), MatrixXd::Zero(5, 8)};
  EXPECT_NEAR(affinity_error(book, cells), 0, 1e-30);
}

TEST(Codebook, TheObjectiveIsThatOfItsDefinition) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Assigned made = random_assigned(4, 1 + seed % 3, seed);
    EXPECT_NEAR(objective(made, 10), naive_objective(made, 10), 1e-9 * std::abs(naive_objective(made, 10)));
  }
}

TEST(Codebook, TheErrorOfACodewordIsItsShareOfTheObjective) {
  const Assigned made = random_assigned(4, 3, 8);
  VectorXd unused(4);
  const VectorXd place = VectorXd::Constant(4, 0.7);
  for (Eigen::Index j = 0; j < 8; ++j) {
    Assigned moved = made;
    moved.book.codewords.col(j) = place;
    const double before = codeword_error(made.book, made.cells, 3, j, made.book.codewords.col(j).data(), unused.data());
    const double after = codeword_error(made.book, made.cells, 3, j, place.data(), unused.data());
    EXPECT_NEAR(after - before, naive_objective(moved, 3) - naive_objective(made, 3), 1e-9);
  }
}

TEST(Codebook, GradientIsThatOfFiniteDifferences) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Assigned made = random_assigned(5, 3, seed);
    for (const double lambda : {0.0, 1.0, 10.0}) {
      for (Eigen::Index j = 0; j < 8; ++j) {
        VectorXd place = made.book.codewords.col(j);
        VectorXd gradient(5);
        VectorXd unused(5);
        codeword_error(made.book, made.cells, lambda, j, place.data(), gradient.data());
        for (Eigen::Index k = 0; k < 5; ++k) {
          constexpr double kStep = 1e-5;
          const double at = place[k];
          place[k] = at + kStep;
          const double above = codeword_error(made.book, made.cells, lambda, j, place.data(), unused.data());
          place[k] = at - kStep;
          const double below = codeword_error(made.book, made.cells, lambda, j, place.data(), unused.data());
          place[k] = at;
          ASSERT_NEAR(gradient[k], (above - below) / (2 * kStep), 1e-7 * (1 + lambda)) << seed << ", " << j;
        }
      }
    }
  }
}

TEST(Codebook, CodewordsAtTheSamePlaceHaveAFiniteGradient) {
  Assigned made = random_assigned(3, 2, 1);
  made.book.codewords.col(1) = made.book.codewords.col(0);
  VectorXd gradient(3);
  const double value = codeword_error(made.book, made.cells, 10, 0, made.book.codewords.col(0).data(), gradient.data());
  EXPECT_TRUE(std::isfinite(value));
  EXPECT_TRUE(gradient.allFinite());
}

TEST(Codebook, UpdatesNeverRaiseTheObjective) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const double lambda : {0.0, 0.1, 10.0, 1000.0}) {
      Assigned made = random_assigned(4, 3, seed);
      const VectorXd last = made.book.codewords.col(7);
      double before = objective(made, lambda);
      for (int round = 0; round < 4; ++round) {
        update_codewords(made.book, made.cells, lambda);
        const double after = objective(made, lambda);
        ASSERT_LE(after, before + 1e-12 * std::abs(before)) << "seed " << seed << ", lambda " << lambda;
        ASSERT_NEAR(after, naive_objective(made, lambda), 1e-9 * (1 + std::abs(after)));
        before = after;
      }
      EXPECT_EQ(made.book.codewords.col(7), last);  // it has no samples
    }
  }
}

TEST(Codebook, UpdatesEndWhereNoCodewordHasAGradient) {
  Assigned made = random_assigned(4, 2, 3);
  for (int round = 0; round < 200; ++round) update_codewords(made.book, made.cells, 1);
  for (Eigen::Index j = 0; j < 4; ++j) {
    VectorXd gradient(4);
    codeword_error(made.book, made.cells, 1, j, made.book.codewords.col(j).data(), gradient.data());
    EXPECT_LT(gradient.norm(), 1e-3);
  }
}

TEST(Codebook, WithoutAffinityCodewordsAreMeans) {
  Assigned made = random_assigned(4, 2, 3);
  made.cells.sums *= 1e-6;  // stopping rules do not depend on the units of the data
  made.book.scale *= 1e-6;
  made.book.codewords *= 1e-6;
  update_codewords(made.book, made.cells, 0);
  for (Eigen::Index j = 0; j < 3; ++j) {
    const VectorXd mean = made.cells.sums.col(j) / made.cells.counts[j];
    EXPECT_LT((made.book.codewords.col(j) - mean).norm(), 1e-4 * mean.norm());
  }
}

TEST(BalancedGroups, GiveEachDirectionToTheSmallestProduct) {
  using Groups = std::vector<std::vector<std::size_t>>;
  // ln(v / 1) + 1 = 5, 4, 3, 2, 1, 1: 5 | 4 | then 3 to the second, 2 to the first, 1 to the first or the second.
  const std::vector<double> variances = {std::exp(4.0), std::exp(3.0), std::exp(2.0), std::exp(1.0), 1.0, 1.0};
  EXPECT_EQ(balanced_groups(variances, {3, 3}), (Groups{{0, 3, 4}, {1, 2, 5}}));
  EXPECT_EQ(balanced_groups(variances, {2, 4}), (Groups{{0, 3}, {1, 2, 4, 5}}));
  EXPECT_EQ(balanced_groups(variances, {2, 2, 2}), (Groups{{0, 5}, {1, 4}, {2, 3}}));
  EXPECT_EQ(balanced_groups(variances, {6}), (Groups{{0, 1, 2, 3, 4, 5}}));
  EXPECT_EQ(balanced_groups({3, 2, 1}, {1, 1, 1}), (Groups{{0}, {1}, {2}}));
}

Vectors mixture(std::size_t dimension, std::size_t count, std::uint64_t seed = 1) {
  Random random(seed);
  std::vector<double> centres(6 * dimension);
  for (double& value : centres) value = 4 * random.normal();
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t centre = random.below(6);
    for (std::size_t d = 0; d < dimension; ++d) {
      const double spread = 0.5 + 2.0 * static_cast<double>(d) / static_cast<double>(dimension);
      values.push_back(static_cast<float>(7 + centres[centre * dimension + d] + spread * random.normal()));
    }
  }
  return {dimension, count, std::move(values)};
}

std::size_t index_in(const Codes& codes, std::size_t sample, std::size_t first, std::size_t bits) {
  std::size_t index = 0;
  for (std::size_t k = first; k < first + bits; ++k) index |= (codes[sample][k / 8] >> k % 8 & 1U) << (k - first);
  return index;
}

TEST(Kmh, TheObjectiveFalls) {
  // Counts change with the indices, and with them the weights of the distances: a rise is possible, but not seen here.
  for (const char* block : {"2", "4"}) {
    testing::Rounds rounds;
    train(mixture(20, 3000), {.method = "kmh", .bits = 8, .set = {{"block", block}, {"iterations", "30"}}}, rounds);
    const auto objectives = rounds.figures("objective");
    ASSERT_EQ(objectives.size(), 30U);
    for (std::size_t i = 1; i < 30; ++i) {
      EXPECT_LE(objectives[i], objectives[i - 1] * (1 + 1e-3)) << "block " << block << ", round " << i;
    }
    EXPECT_LT(objectives.back(), 0.95 * objectives.front()) << block;
  }
}

TEST(Kmh, WithoutAffinityItIsKMeans) {
  // Blocks of 2 bits span less than their subspace of 6 dimensions, those of 4 bits span all of it.
  for (const std::size_t block : {2U, 4U}) {
    const Vectors x = mixture(6, 800, 3);
    testing::Rounds rounds;
    const Model model = train(x,
                              {.method = "kmh",
                               .bits = block,
                               .set = {{"block", std::to_string(block)}, {"lambda", "0"}, {"iterations", "200"}}},
                              rounds);
    const auto objectives = rounds.figures("objective");
    for (std::size_t i = 1; i < objectives.size(); ++i) {
      EXPECT_LE(objectives[i], objectives[i - 1] * (1 + 1e-6));
    }
    // It has converged: the mean of the samples with a code is nearer to each of them than other means are.
    const Codes codes = encode(model, x);
    const MatrixXd samples = view(x.floats(0, 800, nullptr), 6, 800).cast<double>();
    const std::size_t cells = std::size_t{1} << block;
    MatrixXd means = MatrixXd::Zero(6, static_cast<Eigen::Index>(cells));
    std::vector<double> counts(cells);
    for (std::size_t i = 0; i < 800; ++i) {
      const std::size_t cell = index_in(codes, i, 0, block);
      means.col(static_cast<Eigen::Index>(cell)) += samples.col(static_cast<Eigen::Index>(i));
      ++counts[cell];
    }
    for (std::size_t c = 0; c < cells; ++c) means.col(static_cast<Eigen::Index>(c)) /= counts[c];
    double error = 0;
    for (std::size_t i = 0; i < 800; ++i) {
      const auto sample = samples.col(static_cast<Eigen::Index>(i));
      const double own = (sample - means.col(static_cast<Eigen::Index>(index_in(codes, i, 0, block)))).squaredNorm();
      error += own / 800;
      for (std::size_t c = 0; c < cells; ++c) {
        if (counts[c] == 0) continue;
        ASSERT_LE(own, (sample - means.col(static_cast<Eigen::Index>(c))).squaredNorm() * (1 + 1e-3));
      }
    }
    EXPECT_NEAR(rounds.figures("quantization").back(), error, 1e-4 * error);
  }
}

TEST(Kmh, StartsAsPcaHashing) {
  const Vectors x = mixture(20, 700);
  for (const std::size_t bits : {2U, 8U}) {
    const Model start =
        train(x, {.method = "kmh", .bits = bits, .set = {{"block", "8"}, {"iterations", "0"}}, .decoder = false});
    const Codes a = encode(start, x);
    const Codes b = encode(train(x, {.method = "pca", .bits = bits, .decoder = false}), x);
    std::size_t same = 0;
    for (std::size_t i = 0; i < x.size(); ++i) same += a[i][0] == b[i][0] ? 1 : 0;
    EXPECT_GE(same, x.size() - 1);  // a sample may lie so close to a threshold that rounding decides
  }
}

TEST(Kmh, ClustersGetCodewordsAndNeighboursDifferInOneBit) {
  // Corners of a square that stands on its tip, one axis a little longer: principal components lie on the diagonals.
  Random random(6);
  std::vector<float> values;
  std::vector<std::size_t> corners;
  for (int i = 0; i < 2000; ++i) {
    corners.push_back(random.below(4));
    const double angle = 2 * std::acos(-1) * static_cast<double>(corners.back()) / 4;
    values.push_back(static_cast<float>(1.1 * std::cos(angle) + 0.05 * random.normal()));
    values.push_back(static_cast<float>(std::sin(angle) + 0.05 * random.normal()));
  }
  const Vectors x(2, 2000, std::move(values));
  const Codes codes = encode(train(x, {.method = "kmh", .bits = 2, .decoder = false}), x);
  std::vector<int> code_of(4, -1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    int& code = code_of[corners[i]];
    if (code < 0) code = codes[i][0];
    ASSERT_EQ(codes[i][0], code) << i;
  }
  for (std::size_t corner = 0; corner < 4; ++corner) {
    const auto next = static_cast<unsigned>(code_of[(corner + 1) % 4]);
    EXPECT_EQ(std::popcount(static_cast<unsigned>(code_of[corner]) ^ next), 1);
  }
}

TEST(Kmh, BitsAreSpreadEvenlyOverSubspaces) {
  const Vectors x = mixture(20, 300);
  const auto parts = [&](std::size_t bits, const std::string& block) {
    const Model model =
        train(x, {.method = "kmh", .bits = bits, .set = {{"block", block}, {"iterations", "2"}}, .decoder = false});
    EXPECT_EQ(model.bits(), bits);
    std::vector<std::size_t> sizes;
    for (const auto& part : std::get<ProductQuantizer>(model.function).parts) sizes.push_back(part.bits);
    return sizes;
  };
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(parts(12, "4"), (Sizes{4, 4, 4}));
  EXPECT_EQ(parts(13, "4"), (Sizes{4, 3, 3, 3}));
  EXPECT_EQ(parts(3, "4"), (Sizes{3}));
  EXPECT_EQ(parts(9, "8"), (Sizes{5, 4}));
  EXPECT_EQ(parts(3, "1"), (Sizes{1, 1, 1}));
  EXPECT_EQ(parts(20, "4"), (Sizes{4, 4, 4, 4, 4}));  // as many as there are directions
}

TEST(Kmh, APartHasNoMoreCoordinatesThanItsCodewordsSpan) {
  const Vectors x = mixture(20, 300);
  const auto coordinates = [&](std::size_t bits, const std::string& block) {
    const Model model =
        train(x, {.method = "kmh", .bits = bits, .set = {{"block", block}, {"iterations", "2"}}, .decoder = false});
    return std::get<ProductQuantizer>(model.function).projection.outputs;
  };
  EXPECT_EQ(coordinates(4, "2"), 2U * 3);
  EXPECT_EQ(coordinates(8, "4"), 20U);
}

TEST(Kmh, TheSeedChangesNothing) {
  const Vectors x = mixture(10, 400);
  Model a = train(x, {.method = "kmh", .bits = 8, .seed = 1});
  Model b = train(x, {.method = "kmh", .bits = 8, .seed = 2});
  b.record.seed = 1;
  EXPECT_EQ(serialize_model(a), serialize_model(b));
}

TEST(Kmh, ShiftingAndScalingTheDataChangesHardlyAnyCode) {
  const Vectors x = mixture(8, 500);
  std::vector<float> moved(8 * 500);
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = (x.floats(0, 500, nullptr)[i] + 64) / 4096;
  const Vectors y(8, 500, std::move(moved));
  const Codes a = encode(train(x, {.method = "kmh", .bits = 6, .decoder = false}), x);
  const Codes b = encode(train(y, {.method = "kmh", .bits = 6, .decoder = false}), y);
  std::size_t same = 0;
  for (std::size_t i = 0; i < 500; ++i) same += a[i][0] == b[i][0] ? 1 : 0;
  EXPECT_GE(same, 490U);
}

TEST(Kmh, MistakesAreRefused) {
  EXPECT_BDNN_ERROR(train(mixture(6, 100), {.method = "kmh", .bits = 7}), misuse,
                    "7 bits need as many directions, but the vectors have dimension 6");
  EXPECT_BDNN_ERROR(train(mixture(20, 10), {.method = "kmh", .bits = 10}), misuse,
                    "10 vectors vary in at most 9 directions");
  EXPECT_BDNN_ERROR(train(Vectors(4, 50, std::vector<float>(200, 7.5F)), {.method = "kmh", .bits = 2}), misuse,
                    "all 50 vectors are the same");
  std::vector<float> flat;
  Random random(4);
  for (int i = 0; i < 1000; ++i) {
    const auto a = static_cast<float>(random.normal());
    const auto b = static_cast<float>(random.normal());
    flat.insert(flat.end(), {a, b, a + b, 1.0F});
  }
  EXPECT_BDNN_ERROR(train(Vectors(4, 1000, flat), {.method = "kmh", .bits = 3}), misuse,
                    "varies in only 2 directions, too few for 3 bits; ask for at most 2 bits");
  EXPECT_EQ(train(Vectors(4, 1000, flat), {.method = "kmh", .bits = 2}).bits(), 2U);
  EXPECT_BDNN_ERROR(train(mixture(6, 100), {.method = "kmh", .bits = 4, .set = {{"block", "9"}}}), misuse,
                    "block is 1 to 8");
}

TEST(Kmh, DirectionsOfLittleVarianceAreTakenWhereBitsNeedThem) {
  // One direction a thousand times as wide as the others, which float products alone would not tell from rounding.
  Random random(7);
  std::vector<float> uneven;
  for (int i = 0; i < 2000; ++i) {
    for (int d = 0; d < 8; ++d) uneven.push_back(static_cast<float>(random.normal() * (d == 0 ? 10000.0 : 1.0)));
  }
  EXPECT_EQ(train(Vectors(8, 2000, std::move(uneven)), {.method = "kmh", .bits = 8}).bits(), 8U);
}

}  // namespace
}  // namespace bdnn
