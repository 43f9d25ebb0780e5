// Runs under ThreadSanitizer: every method trains on several threads.
// What all methods owe, and each method's own promise.
#include "bdnn/methods.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "bdnn/encode.h"
#include "expect_error.h"
#include "learn/affine.h"
#include "learn/reduction.h"
#include "methods/matrices_testing.h"
#include "methods/variants_testing.h"
#include "model/model_file.h"
#include "sanitized.h"

namespace bdnn {
namespace {

using testing::brief_options;
using testing::Variant;
using testing::weight_of;

// A Gaussian with a different spread in each direction, away from zero.
Vectors uneven_gaussian(std::size_t dimension, std::size_t count, std::uint64_t seed = 1) {
  Random random(seed);
  std::vector<float> values;
  values.reserve(dimension * count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t d = 0; d < dimension; ++d) {
      values.push_back(static_cast<float>(3.0 + random.normal() * (1.0 + static_cast<double>(dimension - d))));
    }
  }
  return {dimension, count, std::move(values)};
}

MatrixXf network_outputs(const Model& model, const Vectors& x) {
  Threads threads(1);
  return outputs_of(std::get<Network>(model.function), x, threads);
}

double quantization_error(const Model& model, const Vectors& x) {
  const MatrixXf h = network_outputs(model, x);
  return static_cast<double>((h.cwiseAbs().array() - 1.0F).square().sum());
}

bool supervised(const std::string& method) {
  for (const auto& info : methods()) {
    if (info.name == method) return info.supervised;
  }
  return false;
}

// The sign of the first dimension and of the second: four classes.
std::vector<std::int64_t> quadrants(const Vectors& x) {
  std::vector<std::int64_t> labels;
  std::vector<float> scratch(x.dimension());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float* values = x.floats(i, 1, scratch.data());
    labels.push_back((values[0] > 3 ? 1 : 0) + (values[1] > 3 ? 2 : 0));
  }
  return labels;
}

// train(), with labels for a method that needs them.
Model train_any(const Vectors& x, TrainOptions options) {
  if (supervised(options.method) && options.labels.empty()) options.labels = quadrants(x);
  return train(x, options);
}

// What makes a training brief: few steps, where a network is trained, few anchors, and few trees.
const std::map<std::string, std::string> kBrief = {
    {"first_steps", "60"}, {"steps", "60"}, {"anchors", "60"}, {"trees", "10"}};

// The same, as briefly as it takes to see what a test is about.
Model train_briefly(const Vectors& x, TrainOptions options) {
  options.set.merge(brief_options({options.method}, options.bits, kBrief).set);
  return train_any(x, options);
}

class EveryMethod : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryMethod, RecordsHowTheModelCameAbout) {
  const Vectors x = uneven_gaussian(10, 300);
  const Model model = train_briefly(x, {.method = GetParam(), .bits = 4, .seed = 9, .data_name = "x.fvecs"});
  EXPECT_EQ(model.bits(), 4U);
  EXPECT_EQ(model.dimension(), 10U);
  EXPECT_EQ(model.record.method, GetParam());
  EXPECT_EQ(model.record.seed, 9U);
  EXPECT_EQ(model.record.samples, 300U);
  EXPECT_EQ(model.record.data, "x.fvecs");
  for (const auto& info : methods()) {
    if (info.name != GetParam()) continue;
    for (const auto& option : info.options) {
      const bool set = kBrief.contains(option.name);
      EXPECT_EQ(model.record.options.at(option.name), set ? kBrief.at(option.name) : option.default_value);
    }
  }
}

TEST_P(EveryMethod, BadDataIsRefused) {
  std::vector<float> values(5 * 100);
  Random random(3);
  for (auto& value : values) value = static_cast<float>(random.normal());
  values[5 * 42 + 3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_BDNN_ERROR(train_any(Vectors(5, 100, values), {.method = GetParam(), .bits = 2}), failure,
                    "nan in row 42, column 3");
  EXPECT_BDNN_ERROR(train_any(Vectors(), {.method = GetParam()}), misuse, "no vectors");
  EXPECT_BDNN_ERROR(train_any(uneven_gaussian(4, 10), {.method = GetParam(), .bits = 0}), misuse, "ask for 1 to 4096");
  EXPECT_BDNN_ERROR(train_any(uneven_gaussian(4, 10), {.method = GetParam(), .bits = 4097}), misuse,
                    "ask for 1 to 4096");
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const auto& method : methods()) names.push_back(method.name);
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  return testing::letters_and_digits(info.param);
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod, ::testing::ValuesIn(method_names()), test_name);

// Slow: every method and profile is trained twice, on three blocks of samples.
class EveryProfile : public ::testing::TestWithParam<Variant> {};

TEST_P(EveryProfile, GivesTheSameModelForAnyNumberOfThreads) {
  const Vectors x = uneven_gaussian(20, 2 * 2048 + 11);  // three blocks, one for each thread
  std::map<std::string, std::string> brief = kBrief;
  // Every bit and every iteration takes the same way through the threads, so fewer are enough under sanitizers.
  constexpr bool kSanitized = testing::kUnderAddressSanitizer || testing::kUnderThreadSanitizer;
  brief.insert({{"iterations", kSanitized ? "2" : "3"}, {"lbfgs_iterations", "5"}, {"cycles", kSanitized ? "1" : "2"}});
  if (GetParam().profile != "default") {
    brief["first_steps"] = brief["steps"] = kSanitized ? "10" : "20";  // their networks are larger
    brief.insert({{"samples", "3000"}, {"per_class", "1000"}});        // fewer than there are, where they draw samples
  }
  TrainOptions options = brief_options(GetParam(), kSanitized ? 6 : 12, brief);
  options.threads = 1;
  const std::string one = serialize_model(train_any(x, options));
  options.threads = 3;
  EXPECT_EQ(one, serialize_model(train_any(x, options)));
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryProfile, ::testing::ValuesIn(testing::all_variants()), testing::variant_name);

class LinearMethod : public ::testing::TestWithParam<std::string> {};

TEST_P(LinearMethod, BitsAreBalancedOnCentredSymmetricData) {
  const Vectors x = uneven_gaussian(16, 4000);
  const MatrixXf h = network_outputs(train_any(x, {.method = GetParam(), .bits = 8}), x);
  for (const auto& bit : h.rowwise()) {
    EXPECT_NEAR(static_cast<double>((bit.array() >= 0).count()), 2000, 200);
  }
}

TEST_P(LinearMethod, ShiftingTheDataChangesNoCode) {
  const Vectors x = uneven_gaussian(8, 500);
  std::vector<float> shifted(8 * 500);
  const float* values = x.floats(0, 500, nullptr);
  for (std::size_t i = 0; i < shifted.size(); ++i) shifted[i] = values[i] + 64.0F;
  const Vectors y(8, 500, std::move(shifted));
  const MatrixXf a = network_outputs(train_any(x, {.method = GetParam(), .bits = 6}), x);
  const MatrixXf b = network_outputs(train_any(y, {.method = GetParam(), .bits = 6}), y);
  EXPECT_LT((a - b).cwiseAbs().maxCoeff(), 1e-2F);
}

INSTANTIATE_TEST_SUITE_P(Methods, LinearMethod, ::testing::Values("lsh", "pca", "pca-rr", "itq"), test_name);

class PrincipalMethod : public ::testing::TestWithParam<std::string> {};

TEST_P(PrincipalMethod, RefusesMoreBitsThanTheDataHasDirections) {
  const std::string& method = GetParam();
  EXPECT_BDNN_ERROR(train(uneven_gaussian(6, 100), {.method = method, .bits = 7}), misuse,
                    "7 bits need as many directions, but the vectors have dimension 6");
  EXPECT_BDNN_ERROR(train(uneven_gaussian(20, 10), {.method = method, .bits = 10}), misuse,
                    "10 vectors vary in at most 9 directions");
  EXPECT_BDNN_ERROR(train(Vectors(4, 50, std::vector<float>(200, 7.5F)), {.method = method, .bits = 2}), misuse,
                    "all 50 vectors are the same");
  // Dimension 3 is the sum of the first two, dimension 4 is constant.
  Random random(4);
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) {
    const auto a = static_cast<float>(random.normal());
    const auto b = static_cast<float>(random.normal());
    values.insert(values.end(), {a, b, a + b, 1.0F});
  }
  EXPECT_BDNN_ERROR(train(Vectors(4, 1000, values), {.method = method, .bits = 3}), misuse,
                    "varies in only 2 directions, too few for 3 bits; ask for at most 2 bits");
  EXPECT_EQ(train(Vectors(4, 1000, values), {.method = method, .bits = 2}).bits(), 2U);
}

TEST_P(PrincipalMethod, VariancesThatFloatProductsCannotTellAreToldApart) {
  // Five directions in 64 dimensions: what remains in the others is rounding, not variance.
  Random random(7);
  MatrixXd basis(64, 5);
  for (double& entry : basis.reshaped()) entry = random.normal();
  std::vector<float> values;
  for (int i = 0; i < 5000; ++i) {
    VectorXd weights(5);
    for (double& weight : weights) weight = random.normal();
    const VectorXd vector = basis * weights;
    for (const double value : vector) values.push_back(static_cast<float>(value));
  }
  const Vectors flat(64, 5000, std::move(values));
  EXPECT_BDNN_ERROR(train(flat, {.method = GetParam(), .bits = 8}), misuse, "varies in only 5 directions");
  EXPECT_EQ(train(flat, {.method = GetParam(), .bits = 5}).bits(), 5U);
  // One direction a thousand times as wide as the others, which vary all the same.
  std::vector<float> uneven;
  for (int i = 0; i < 5000; ++i) {
    for (int d = 0; d < 8; ++d) uneven.push_back(static_cast<float>(random.normal() * (d == 0 ? 10000.0 : 1.0)));
  }
  EXPECT_EQ(train(Vectors(8, 5000, std::move(uneven)), {.method = GetParam(), .bits = 8}).bits(), 8U);
  EXPECT_BDNN_ERROR(train(Vectors(2, 9,
                                  std::vector<float>{1e30F, -1e30F, 3e30F, 1e30F, 0, 1e30F, 2e30F, 5, 6, 7e30F, 1, 1, 1,
                                                     2, 3, 4, 5, 6}),
                          {.method = GetParam(), .bits = 2}),
                    failure, "squares overflow; scale it down");
}

TEST_P(PrincipalMethod, RowsAreOrthonormal) {
  const Model model = train(uneven_gaussian(12, 900), {.method = GetParam(), .bits = 7});
  const MatrixXd w = weight_of(model);
  EXPECT_TRUE((w * w.transpose()).isIdentity(1e-5));
}

INSTANTIATE_TEST_SUITE_P(Methods, PrincipalMethod, ::testing::Values("pca", "pca-rr"), test_name);

TEST(Itq, MoreBitsThanDirectionsAreBlocksOfRotations) {
  const Vectors x = uneven_gaussian(6, 900);
  const MatrixXd w = weight_of(train(x, {.method = "itq", .bits = 16}));
  ASSERT_EQ(w.rows(), 16);
  // Three blocks, of 5, 5 and 6 bits; each is orthonormal, and no two are the same.
  Eigen::Index first = 0;
  for (const Eigen::Index size : {5, 5, 6}) {
    const MatrixXd block = w.middleRows(first, size);
    EXPECT_TRUE((block * block.transpose()).isIdentity(1e-5)) << first;
    first += size;
  }
  EXPECT_GT((w.topRows(5) - w.middleRows(5, 5)).norm(), 0.1);
  EXPECT_EQ(train(uneven_gaussian(20, 10), {.method = "itq", .bits = 64}).bits(), 64U);
  EXPECT_BDNN_ERROR(train(Vectors(4, 50, std::vector<float>(200, 7.5F)), {.method = "itq", .bits = 2}), misuse,
                    "all 50 vectors are the same");
  EXPECT_TRUE((weight_of(train(uneven_gaussian(12, 900), {.method = "itq", .bits = 7})) *
               weight_of(train(uneven_gaussian(12, 900), {.method = "itq", .bits = 7})).transpose())
                  .isIdentity(1e-5));
}

TEST_P(EveryMethod, NormalisedItDoesNotSeeTheLengthOfVectors) {
  const Vectors x = uneven_gaussian(10, 300);
  TrainOptions options{.method = GetParam(), .bits = 8, .set = {{"normalise", "unit"}}};
  const Model model = train_briefly(x, options);
  EXPECT_EQ(model.record.options.at("normalise"), "unit");
  std::vector<float> scaled(10 * 300);
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    scaled[i] = x.floats(0, 300, nullptr)[i] * static_cast<float>(1 << i / 10 % 7);  // by powers of two, exactly
  }
  const Codes a = encode(model, x);
  const Codes b = encode(model, Vectors(10, 300, scaled));
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i][0], b[i][0]) << i;
  const Model again = parse_model(serialize_model(model), "m");
  EXPECT_TRUE(std::visit([](const auto& function) { return function.unit_inputs; }, again.function));
  options.set["normalise"] = "l2";
  EXPECT_BDNN_ERROR(train_any(x, options), misuse, "normalise is none or unit");
}

// PCA of the 12 dimensions of x to 9.
TEST_P(EveryMethod, WithPcaItGivesTheCodesOfReducedVectors) {
  const Vectors x = uneven_gaussian(12, 300);
  Threads threads(2);
  Progress silent;
  const PrincipalComponents components = fit_components(x, 9, threads, silent);
  const Vectors y = reduced(components.layer, x, threads);
  for (const char* normalise : {"none", "unit"}) {
    TrainOptions options{.method = GetParam(), .bits = 8, .set = {{"normalise", normalise}}};
    if (supervised(GetParam())) options.labels = quadrants(x);
    const Model of_reduced = train_briefly(y, options);
    options.set["pca"] = "9";
    const Model model = parse_model(serialize_model(train_briefly(x, options)), "m");
    EXPECT_EQ(model.record.options.at("pca"), "9");
    EXPECT_EQ(model.dimension(), 12U);
    EXPECT_EQ(model.describe().front(), "12 -> 9 principal components");
    const Codes right = encode(of_reduced, y);
    const Codes codes = encode(model, x);
    for (std::size_t i = 0; i < 300; ++i) ASSERT_EQ(codes[i][0], right[i][0]) << i;
    if (model.has_outputs()) {
      const Vectors h = outputs(model, x);
      const Vectors right_h = outputs(of_reduced, y);
      EXPECT_EQ(std::memcmp(h.data(), right_h.data(), 8 * 300 * sizeof(float)), 0);
    }
    // What is rebuilt are vectors as they were: from their components.
    const MatrixXd v = weight_of(Model{Network{{components.layer}}});
    const Vectors rebuilt = reconstruct(model, codes);
    const Vectors rebuilt_y = reconstruct(of_reduced, right);
    ASSERT_EQ(rebuilt.dimension(), 12U);
    for (std::size_t i = 0; i < 300; ++i) {
      const Eigen::Map<const VectorXf> own(rebuilt.floats(i, 1, nullptr), 12);
      const Eigen::Map<const VectorXf> of_y(rebuilt_y.floats(i, 1, nullptr), 9);
      const VectorXd expected = v.transpose() * of_y.cast<double>() + components.mean;
      ASSERT_LT((own.cast<double>() - expected).norm(), 1e-5 * (1 + expected.norm())) << i;
    }
  }
}

TEST(PcaOption, MistakesSayWhatIsPossible) {
  const Vectors x = uneven_gaussian(6, 40);
  const auto with = [](const char* pca) { return TrainOptions{.method = "lsh", .bits = 4, .set = {{"pca", pca}}}; };
  EXPECT_BDNN_ERROR(train(x, with("7")), misuse,
                    "7 principal components are too many for vectors of dimension 6; ask for at most 6");
  EXPECT_BDNN_ERROR(train(uneven_gaussian(6, 5), with("5")), misuse,
                    "5 vectors have at most 4 principal components, not 5");
  EXPECT_BDNN_ERROR(train(Vectors(6, 50, std::vector<float>(300, 2.5F)), with("2")), misuse, "are the same");
  for (const char* bad : {"-1", "x", "", "2.5", "99999999"}) {
    EXPECT_BDNN_ERROR(train(x, with(bad)), misuse, "pca is 0 to");
  }
  std::vector<float> flat;  // three dimensions, of which the third is the sum of the others
  for (std::size_t i = 0; i < 40; ++i) {
    const float* v = x.floats(i, 1, nullptr);
    flat.insert(flat.end(), {v[0], v[1], v[0] + v[1]});
  }
  EXPECT_BDNN_ERROR(train(Vectors(3, 40, flat), with("3")), misuse,
                    "vary in only 2 directions, too few for 3 principal");
  EXPECT_FALSE(train(x, with("0")).reduction.has_value());
  EXPECT_EQ(train(x, with("6")).reduction->outputs, 6U);
}

TEST(PcaOption, RefinedCodesAreThoseOfReducedVectorsUpToRounding) {
  const Vectors x = uneven_gaussian(24, 600);
  Threads threads(1);
  Progress silent;
  const Vectors y = reduced(fit_components(x, 15, threads, silent).layer, x, threads);
  for (const char* method : {"itq", "uh-bdnn"}) {  // a fitted decoder, and one of the method's own
    TrainOptions options{.method = method, .bits = 16};
    const Codes right = encode(train_briefly(y, options), y, {.refined = true});
    options.set["pca"] = "15";
    const Model model = train_briefly(x, options);
    const Codes refined = encode(model, x, {.refined = true});
    const Codes hashed = encode(model, x);
    int equal = 0;
    int changed = 0;
    for (std::size_t i = 0; i < 600; ++i) {
      equal += hamming_distance(refined[i], right[i]) == 0 ? 1 : 0;
      changed += hamming_distance(refined[i], hashed[i]) == 0 ? 0 : 1;
    }
    EXPECT_GE(equal, 594) << method;
    EXPECT_GT(changed, 60) << method;
  }
}

TEST(PcaOption, DoesNotDependOnThreadsAndRefusesDamage) {
  const Vectors x = uneven_gaussian(20, 5000);
  TrainOptions options{.method = "itq", .bits = 8, .threads = 1, .set = {{"pca", "11"}}};
  const std::string one = serialize_model(train(x, options));
  options.threads = 3;
  EXPECT_EQ(one, serialize_model(train(x, options)));
  Model broken = parse_model(one, "m");
  broken.reduction->outputs = 10;
  EXPECT_BDNN_ERROR(serialize_model(broken), misuse, "the reduction does not fit");
  EXPECT_BDNN_ERROR(encode(broken, x), misuse, "the reduction does not fit");
  Vectors holed(20, 3, std::vector<float>(60, 1.0F));
  const_cast<float*>(holed.floats(0, 3, nullptr))[25] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_BDNN_ERROR(encode(parse_model(one, "m"), holed), failure, "vector 1 has nan in column 5");
}

TEST(Lsh, DoesNotNeedAsManyDimensionsAsBits) {
  EXPECT_EQ(train(uneven_gaussian(3, 10), {.method = "lsh", .bits = 200}).bits(), 200U);
}

TEST(Lsh, ALongerCodeStartsWithTheShorterOne) {
  const Vectors x = uneven_gaussian(10, 100);
  const MatrixXd shorter = weight_of(train(x, {.method = "lsh", .bits = 8}));
  EXPECT_EQ(weight_of(train(x, {.method = "lsh", .bits = 20})).topRows(8), shorter);
}

TEST(Lsh, TheShareOfDifferingBitsIsTheAngle) {
  const Vectors x(2, 2, {1.0F, 0.0F, 0.5F, 0.8660254F});  // 60 degrees apart, seen from the origin
  const Model model = train(x, {.method = "lsh", .bits = 4096, .set = {{"centre", "false"}}, .decoder = false});
  const Codes codes = encode(model, x);
  EXPECT_NEAR(static_cast<double>(hamming_distance(codes[0], codes[1])) / 4096, 1.0 / 3, 0.03);
}

TEST(Pca, FindsTheDirectionsOfLargestSpread) {
  const MatrixXd w = weight_of(train(uneven_gaussian(6, 20000), {.method = "pca", .bits = 3}));
  for (Eigen::Index i = 0; i < 3; ++i) EXPECT_GT(w(i, i), 0.95);
}

TEST(Itq, MoreRotationsComeCloserToBinary) {
  Vectors x = uneven_gaussian(16, 3000);
  double last = std::numeric_limits<double>::infinity();
  for (const char* rotations : {"0", "1", "3", "10", "50"}) {
    const double error =
        quantization_error(train(x, {.method = "itq", .bits = 16, .set = {{"rotations", rotations}}}), x);
    EXPECT_LE(error, last * (1 + 1e-6)) << rotations;
    last = error;
  }
}

TEST(Itq, WithoutRotationsItIsPcaRr) {
  const Vectors x = uneven_gaussian(16, 1000);
  const MatrixXd none = weight_of(train(x, {.method = "itq", .bits = 8, .seed = 5, .set = {{"rotations", "0"}}}));
  EXPECT_EQ(none, weight_of(train(x, {.method = "pca-rr", .bits = 8, .seed = 5})));
}

TEST(Itq, TurnsClustersAtTheCornersOfASquareBackToTheCorners) {
  // Corners of a square that stands on its tip, with a little noise: principal components do not tell its sides.
  Random random(6);
  std::vector<float> values;
  for (int i = 0; i < 4000; ++i) {
    const double a = (random.below(2) == 1 ? 1.0 : -1.0) + 0.05 * random.normal();
    const double b = (random.below(2) == 1 ? 1.0 : -1.0) + 0.05 * random.normal();
    values.push_back(static_cast<float>(std::sqrt(0.5) * (a + b)));
    values.push_back(static_cast<float>(std::sqrt(0.5) * (a - b)));
  }
  const Vectors x(2, 4000, std::move(values));
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const double error = quantization_error(train(x, {.method = "itq", .bits = 2, .seed = seed}), x) / (2 * 4000);
    EXPECT_LT(error, 0.01) << "seed " << seed;  // of which 0.0025 are the noise
  }
}

TEST(Options, MistakesListWhatIsRight) {
  const Vectors x = uneven_gaussian(8, 100);
  std::string names;
  for (const auto& name : method_names()) names += (names.empty() ? "" : ", ") + name;
  EXPECT_BDNN_ERROR(train(x, {.method = "itqq"}), misuse, "unknown method 'itqq'; the methods are " + names);
  EXPECT_BDNN_ERROR(train(x, {.method = "itq", .bits = 4, .set = {{"rotation", "3"}}}), misuse,
                    "itq has no option 'rotation'; it has rotations");
  EXPECT_BDNN_ERROR(train(x, {.method = "pca", .bits = 4, .set = {{"a", "3"}}}), misuse,
                    "pca has no option 'a'; it has none");
  for (const char* bad : {"-1", "x", "", "3.5", "1e3", "99999999999"}) {
    EXPECT_BDNN_ERROR(train(x, {.method = "itq", .bits = 4, .set = {{"rotations", bad}}}), misuse,
                      "rotations is 0 to 100000");
  }
  EXPECT_BDNN_ERROR(train(x, {.method = "lsh", .set = {{"centre", "yes"}}}), misuse, "centre is false or true");
}

}  // namespace
}  // namespace bdnn
