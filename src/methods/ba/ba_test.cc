#include "methods/ba/ba.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "base/random.h"
#include "bdnn/encode.h"
#include "expect_error.h"
#include "learn/affine.h"
#include "methods/ba/binary_autoencoder.h"
#include "methods/progress_testing.h"

namespace bdnn {
namespace {

// Samples rebuilt from random codes by a random decoder, with noise.
Vectors from_codes(std::size_t dimension, std::size_t bits, std::size_t count, double noise, std::uint64_t seed) {
  Random random(seed);
  MatrixXd w(dimension, bits);
  for (double& entry : w.reshaped()) entry = random.normal();
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    VectorXd b(bits);
    for (double& entry : b) entry = random.below(2) == 1 ? 1 : -1;
    const VectorXd x = w * b;
    for (const double value : x) values.push_back(static_cast<float>(7 + value + noise * random.normal()));
  }
  return {dimension, count, std::move(values)};
}

class Made {
 public:
  Made(Vectors vectors, std::size_t bits, BinaryAutoencoder::Options options, std::uint64_t seed = 1)
      : x(std::move(vectors)), threads(1), moments(moments_of(x, threads, silent)), set(x, all(), scaling()) {
    Random random(seed);
    LinearSvms first = LinearSvms::zero(x.dimension(), bits);
    for (double& entry : first.w.reshaped()) entry = random.normal();
    autoencoder.emplace(set, moments, std::move(first), options, threads);
  }

  // The objective word for word, for h as it is.
  double objective(double mu) const {
    MatrixXf samples(x.dimension(), x.size());
    set.load(std::size_t{0}, x.size(), samples.data());
    const LinearSvms& h = autoencoder->hash_function();
    const MatrixXd outputs = (h.w.transpose() * samples.cast<double>()).colwise() + h.b;
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += value(samples, outputs, i, code(i), mu);
    return sum / static_cast<double>(x.size());
  }

  double value(const MatrixXf& samples, const MatrixXd& outputs, std::size_t i, const VectorXd& b, double mu) const {
    const auto column = static_cast<Eigen::Index>(i);
    const RidgeRegression& f = autoencoder->decoder();
    const VectorXd rest = samples.col(column).cast<double>() - f.w.cast<double>() * b - f.c.cast<double>();
    double differing = 0;
    for (Eigen::Index k = 0; k < b.size(); ++k) differing += (outputs(k, column) >= 0) != (b[k] > 0) ? 1 : 0;
    return rest.squaredNorm() + mu * differing;
  }

  VectorXd code(std::size_t sample) const {
    VectorXd b(autoencoder->codes().bits());
    autoencoder->codes().unpack(sample, b.data());
    return b;
  }

  Progress silent;
  Vectors x;
  Threads threads;
  Moments moments;
  TrainingSet set;
  std::optional<BinaryAutoencoder> autoencoder;

 private:
  std::vector<std::uint32_t> all() const {
    std::vector<std::uint32_t> rows(x.size());
    std::iota(rows.begin(), rows.end(), 0U);
    return rows;
  }
  Scaling scaling() const { return {moments.mean, 1 / std::sqrt(moments.covariance.trace())}; }
};

RC_GTEST_PROP(BinaryAutoencoder, CodeAndDecoderStepsNeverRaiseTheObjective, ()) {
  const auto bits = *rc::gen::inRange<std::size_t>(1, 14);
  const auto enumerate = *rc::gen::element<std::size_t>(0, 16);
  Made made(from_codes(9, bits, 100, 0.5, *rc::gen::arbitrary<std::uint64_t>()), bits,
            {.svm = {.c = 10, .newton_steps = 2}, .enumerate = enumerate, .local_search = 3});
  for (const double mu : {0.0, 0.01, 0.1, 1.0}) {
    const double start = made.objective(mu);
    made.autoencoder->code_step(mu);
    const double after_codes = made.objective(mu);
    RC_ASSERT(after_codes <= start * (1 + 1e-5));
    made.autoencoder->decoder_step();
    const double after_decoder = made.objective(mu);
    RC_ASSERT(after_decoder <= after_codes * (1 + 1e-5));
    const double told = made.autoencoder->reconstruction_error() + mu * made.autoencoder->differing();
    RC_ASSERT(std::abs(told - after_decoder) <= 1e-4 * (1e-3 + after_decoder));
    made.autoencoder->hash_step();
  }
}

TEST(BinaryAutoencoder, TheCodeStepOfFewBitsIsExact) {
  Made made(from_codes(8, 6, 60, 1.0, 3), 6, {.enumerate = 6});
  const double mu = 0.05;
  made.autoencoder->code_step(mu);
  MatrixXf samples(8, 60);
  made.set.load(std::size_t{0}, 60, samples.data());
  const LinearSvms& h = made.autoencoder->hash_function();
  const MatrixXd outputs = (h.w.transpose() * samples.cast<double>()).colwise() + h.b;
  for (std::size_t i = 0; i < 60; ++i) {
    double best = std::numeric_limits<double>::max();
    for (unsigned code = 0; code < 64; ++code) {
      VectorXd b(6);
      for (unsigned k = 0; k < 6; ++k) b[k] = (code >> k & 1U) != 0 ? 1 : -1;
      best = std::min(best, made.value(samples, outputs, i, b, mu));
    }
    EXPECT_LE(made.value(samples, outputs, i, made.code(i), mu), best + 1e-5);
  }
}

TEST(BinaryAutoencoder, ALargePenaltyGivesTheCodesOfTheHashFunction) {
  for (const std::size_t enumerate : {0, 16}) {
    Made made(from_codes(8, 6, 300, 0.5, 4), 6, {.enumerate = enumerate});
    made.autoencoder->code_step(0);
    EXPECT_GT(made.autoencoder->differing(), 0.1);
    made.autoencoder->code_step(1e4);
    EXPECT_EQ(made.autoencoder->differing(), 0.0);
  }
}

// Mean of ||x - x'||^2 over the data's variance, with the decoder that is best for the model's codes.
double lost_share(const Model& model, const Vectors& x) {
  const Vectors rebuilt = reconstruct(model, encode(model, x));
  MatrixXd a = view(x.floats(0, x.size(), nullptr), x.dimension(), x.size()).cast<double>();
  const MatrixXd b = view(rebuilt.floats(0, x.size(), nullptr), x.dimension(), x.size()).cast<double>();
  const double error = (a - b).squaredNorm();
  a.colwise() -= VectorXd(a.rowwise().mean());
  return error / a.squaredNorm();
}

TEST(Ba, FindsTheCodesThatDataCameFrom) {
  const Vectors x = from_codes(20, 8, 2000, 0.1, 5);
  const double pca = lost_share(train(x, {.method = "pca", .bits = 8}), x);
  const double ba = lost_share(train(x, {.method = "ba", .bits = 8}), x);
  EXPECT_GT(pca, 0.2);
  EXPECT_LT(ba, 0.1);
}

TEST(Ba, RebuildsBetterThanItsStart) {
  const Vectors x = from_codes(16, 24, 1000, 0.5, 8);
  for (const char* start : {"pca", "itq"}) {
    TrainOptions options{.method = "ba", .bits = 12, .set = {{"start", start}, {"iterations", "0"}}};
    const double before = lost_share(train(x, options), x);
    EXPECT_NEAR(before, lost_share(train(x, {.method = start, .bits = 12}), x), 1e-6);
    options.set.erase("iterations");
    EXPECT_LT(lost_share(train(x, options), x), before) << start;
  }
}

TEST(Ba, TakesDataOfFewDirectionsInManyDimensions) {
  const Vectors flat = from_codes(64, 5, 1000, 0, 7);
  EXPECT_EQ(train(flat, {.method = "ba", .bits = 5}).bits(), 5U);
  EXPECT_EQ(train(flat, {.method = "ba", .bits = 12}).bits(), 12U);
  EXPECT_LE(lost_share(train(flat, {.method = "ba", .bits = 5}), flat),
            lost_share(train(flat, {.method = "itq", .bits = 5}), flat) + 1e-6);
}

TEST(Ba, EndsOnceTheHashFunctionGivesEverySampleItsCode) {
  const Vectors x = from_codes(10, 6, 500, 0.3, 9);
  testing::Rounds told;
  train(x, {.method = "ba", .bits = 6, .set = {{"growth", "10"}, {"iterations", "1000"}}}, told);
  const auto differing = told.figures("differing");
  ASSERT_LT(differing.size(), 20U);
  for (std::size_t i = 0; i + 1 < differing.size(); ++i) EXPECT_GT(differing[i], 0) << i;
  EXPECT_EQ(differing.back(), 0);
}

TEST(Ba, SaysWhatItNeeds) {
  const Vectors x = from_codes(4, 4, 50, 0.5, 2);
  EXPECT_BDNN_ERROR(train(x, {.method = "ba", .bits = 5, .set = {{"start", "pca"}}}), misuse,
                    "5 bits need as many directions, but the vectors have dimension 4");
  EXPECT_EQ(train(x, {.method = "ba", .bits = 9, .set = {{"start", "itq"}}}).bits(), 9U);
  EXPECT_BDNN_ERROR(train(Vectors(4, 50, std::vector<float>(200, 7.5F)), {.method = "ba", .bits = 2}), misuse,
                    "all 50 vectors are the same");
  EXPECT_BDNN_ERROR(train(x, {.method = "ba", .bits = 2, .set = {{"growth", "0.9"}}}), misuse, "growth is 1 to 100");
}

}  // namespace
}  // namespace bdnn
