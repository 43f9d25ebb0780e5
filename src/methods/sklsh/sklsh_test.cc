#include "methods/sklsh/sklsh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/random.h"
#include "bdnn/encode.h"
#include "expect_error.h"
#include "learn/affine.h"
#include "methods/progress_testing.h"
#include "methods/samples_testing.h"

namespace bdnn {
namespace {

using testing::gaussian;

const Network& network_of(const Model& model) { return std::get<Network>(model.function); }

// The root mean square of the weights, which is 1 / sigma.
double inverse_bandwidth(const Model& model) {
  const auto& weight = network_of(model).layers.front().weight;
  double sum = 0;
  for (const float value : weight) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum / static_cast<double>(weight.size()));
}

TEST(Sklsh, TheShareOfDifferingBitsIsTheFunctionOfTheKernelThatTheAuthorsDerive) {
  // A grid of spacing 0.01 sets the bandwidth: the second neighbour of all points but the outermost is at 0.01.
  std::vector<float> grid;
  for (int i = 0; i < 2001; ++i) grid.push_back(static_cast<float>(0.01 * i));
  const Model model =
      train(Vectors(1, 2001, std::move(grid)),
            {.method = "sklsh", .bits = 2048, .set = {{"neighbour", "2"}, {"sampled", "0"}}, .decoder = false});
  for (const double bandwidths : {0.25, 0.5, 1.0, 2.0, 6.0}) {
    const Codes codes = encode(model, Vectors(1, 2, {10.0F, static_cast<float>(10 + 0.01 * bandwidths)}));
    // 8/pi^2 times the sum over m = 1, 2, ... of (1 - K(m (x - y))) / (4 m^2 - 1).
    double expected = 0;
    for (int m = 1; m < 10000; ++m) {
      const double kernel = std::exp(-m * m * bandwidths * bandwidths / 2);
      expected += 8 / (std::numbers::pi * std::numbers::pi) * (1 - kernel) / (4.0 * m * m - 1);
    }
    EXPECT_NEAR(static_cast<double>(hamming_distance(codes[0], codes[1])) / 2048, expected, 0.03) << bandwidths;
  }
}

TEST(Sklsh, IsTheFormula) {
  const Vectors x = gaussian(6, 300, 1, 5);
  const Model model = train(x, {.method = "sklsh", .bits = 9});
  const auto& layers = network_of(model).layers;
  ASSERT_EQ(layers.size(), 2U);
  Threads threads(1);
  const MatrixXf h = outputs_of(network_of(model), x, threads);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t bit = 0; bit < 9; ++bit) {
      double z = static_cast<double>(layers[0].bias[bit]);
      for (std::size_t d = 0; d < 6; ++d) {
        z += static_cast<double>(layers[0].weight[bit * 6 + d]) * static_cast<double>(x.floats(i, 1, nullptr)[d]);
      }
      const double expected = std::cos(z) + static_cast<double>(layers[1].bias[bit]);
      ASSERT_NEAR(static_cast<double>(h(static_cast<Eigen::Index>(bit), static_cast<Eigen::Index>(i))), expected, 1e-5);
    }
  }
  for (const float threshold : layers[1].bias) EXPECT_LE(std::abs(threshold), 1.0F);
}

TEST(Sklsh, WhereASampleGivesTheBandwidthItIsSaid) {
  const Vectors x = gaussian(3, 400, 1);
  const auto stages = [&](const char* sampled) {
    return testing::stages_of(x, {.method = "sklsh", .bits = 4, .set = {{"sampled", sampled}}, .decoder = false});
  };
  EXPECT_EQ(stages("250"), std::set<std::string>{"bandwidth, on 250 of 400 samples"});  // the default
  EXPECT_EQ(stages("0"), std::set<std::string>{"bandwidth"});
}

TEST(Sklsh, WavesAreCutAtHeightsFromTheLowestToTheHighest) {
  const Vectors x = gaussian(6, 300, 1, 5);
  const Model model = train(x, {.method = "sklsh", .bits = 1000, .decoder = false});
  const auto& heights = network_of(model).layers.back().bias;
  const Eigen::Map<const VectorXf> t(heights.data(), 1000);
  EXPECT_LT(t.minCoeff(), -0.98F);
  EXPECT_GT(t.maxCoeff(), 0.98F);
  EXPECT_NEAR(t.mean(), 0, 0.08);
  EXPECT_NEAR(t.squaredNorm() / 1000, 1.0 / 3, 0.05);
  // So bits are 1 as often as 0, all taken together.
  Threads threads(1);
  const MatrixXf h = outputs_of(network_of(model), x, threads);
  EXPECT_NEAR(static_cast<double>((h.array() >= 0).count()) / static_cast<double>(h.size()), 0.5, 0.05);
}

TEST(Sklsh, TheBandwidthIsTheMeanDistanceToTheNeighbour) {
  const Vectors x = gaussian(3, 200, 1);
  double sum = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    std::vector<double> distances;
    for (std::size_t j = 0; j < 200; ++j) {
      const Eigen::Vector3f a(x.floats(i, 1, nullptr));
      const Eigen::Vector3f b(x.floats(j, 1, nullptr));
      if (j != i) distances.push_back((a - b).cast<double>().norm());
    }
    std::sort(distances.begin(), distances.end());
    sum += distances[6];
  }
  TrainOptions options{
      .method = "sklsh", .bits = 2000, .set = {{"neighbour", "7"}, {"sampled", "0"}, {"width", "2"}}, .decoder = false};
  const double whole = inverse_bandwidth(train(x, options));
  EXPECT_NEAR(whole * 2 * sum / 200, 1, 0.05);  // as far as 6,000 normal numbers tell
  options.set["width"] = "1";
  EXPECT_NEAR(inverse_bandwidth(train(x, options)), 2 * whole, 1e-5);
  // Fewer samples, nearly the same.
  options.set["sampled"] = "100";
  EXPECT_NEAR(inverse_bandwidth(train(x, options)) / (2 * whole), 1, 0.15);
}

TEST(Sklsh, ALongerCodeStartsWithTheShorterOneForAnyNumberOfBits) {
  const Vectors x = gaussian(3, 60, 1);
  const Codes shorter = encode(train(x, {.method = "sklsh", .bits = 8}), x);
  const Codes longer = encode(train(x, {.method = "sklsh", .bits = 200}), x);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(shorter[i][0], longer[i][0]);
}

TEST(Sklsh, FarFromTheOriginItWorksAsWell) {
  // 2^15 bandwidths away: without the mean taken off, the waves would be beyond what the cosine can tell.
  const Vectors x = gaussian(4, 300, 1, 32768);
  const Codes codes = encode(train(x, {.method = "sklsh", .bits = 64}), x);
  std::size_t differing = 0;
  for (std::size_t i = 1; i < x.size(); ++i) differing += hamming_distance(codes[0], codes[i]);
  EXPECT_GT(differing, 299U * 10);
}

TEST(Sklsh, RefusesDataWithoutDistances) {
  EXPECT_BDNN_ERROR(train(Vectors(4, 80, std::vector<float>(320, 7.5F)), {.method = "sklsh", .bits = 2}), misuse,
                    "the vectors equal their 50 nearest neighbours");
  EXPECT_BDNN_ERROR(train(gaussian(4, 1, 1), {.method = "sklsh", .bits = 2}), misuse,
                    "a single vector has no distances");
}

}  // namespace
}  // namespace bdnn
