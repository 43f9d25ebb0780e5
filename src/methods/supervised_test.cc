// What all supervised methods owe: sensible codes, or a clear error, for labels as they come.
#include <gtest/gtest.h>

#include "base/random.h"
#include "bdnn/bdnn.h"
#include "expect_error.h"
#include "methods/variants_testing.h"

namespace bdnn {
namespace {

using testing::Variant;

struct ClassesOfSizes {
  Vectors x;
  std::vector<std::int64_t> labels;
};

// Class c has sizes[c] samples, of standard deviation 1 in each dimension, around a centre that `centres` draws with
// `spread`. Labels are no counters.
ClassesOfSizes classes_of_sizes(const std::vector<std::size_t>& sizes, std::size_t dimension, double spread,
                                std::uint64_t noise, std::uint64_t centres = 1) {
  Random places(centres);
  Random random(noise);
  std::vector<std::vector<double>> centre(sizes.size(), std::vector<double>(dimension));
  for (auto& place : centre) {
    for (double& value : place) value = 5 + spread * places.normal();
  }
  std::vector<float> values;
  std::vector<std::int64_t> labels;
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    for (std::size_t i = 0; i < sizes[c]; ++i) {
      labels.push_back(static_cast<std::int64_t>(c * 10) - 7);
      for (const double value : centre[c]) values.push_back(static_cast<float>(value + random.normal()));
    }
  }
  const std::size_t count = labels.size();
  return {{dimension, count, std::move(values)}, std::move(labels)};
}

// As briefly as classes are still told apart.
TrainOptions options_for(const Variant& variant, std::size_t bits, std::size_t samples) {
  TrainOptions options = testing::brief_options(variant, bits,
                                                {{"first_steps", "200"},
                                                 {"steps", "200"},
                                                 {"lbfgs_iterations", "50"},
                                                 {"trees", "30"},
                                                 {"anchors", std::to_string(std::min<std::size_t>(100, samples))}});
  options.decoder = false;
  return options;
}

struct Distances {
  double same = 0;       // mean share of bits in which new samples differ from training samples of their class
  double different = 0;  // and from those of other classes
};

Distances distances(const Model& model, const ClassesOfSizes& train, const ClassesOfSizes& fresh) {
  const Codes a = encode(model, train.x);
  const Codes b = encode(model, fresh.x);
  double sums[2] = {};
  double counts[2] = {};
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t j = 0; j < a.size(); ++j) {
      const bool same = fresh.labels[i] == train.labels[j];
      sums[same] += static_cast<double>(hamming_distance(b[i], a[j]));
      counts[same] += static_cast<double>(model.bits());
    }
  }
  return {sums[1] / counts[1], sums[0] / counts[0]};
}

class SupervisedMethod : public ::testing::TestWithParam<Variant> {
 protected:
  // Trains on blobs of these sizes, and looks at fresh samples of the same classes.
  void expect_classes_apart(const std::vector<std::size_t>& sizes, std::size_t dimension, std::size_t bits,
                            double ratio, double unlabelled = 0) {
    const ClassesOfSizes train_on = classes_of_sizes(sizes, dimension, 3, 2);
    const ClassesOfSizes fresh = classes_of_sizes(std::vector<std::size_t>(sizes.size(), 3), dimension, 3, 3);
    TrainOptions options = options_for(GetParam(), bits, train_on.x.size());
    options.labels = train_on.labels;
    Random random(4);
    for (auto& label : options.labels) {
      if (random.uniform() < unlabelled) label = -1;
    }
    if (GetParam().name() == "sh-bdnn:paper" && bits > dimension) {
      EXPECT_BDNN_ERROR(train(train_on.x, options), misuse, "bits need as many directions");
      return;
    }
    const Distances found = distances(train(train_on.x, options), train_on, fresh);
    EXPECT_LT(found.same, ratio * found.different) << found.same << " of the bits, and " << found.different;
    EXPECT_GT(found.different, 0.2);
  }
};

TEST_P(SupervisedMethod, TwoClasses) { expect_classes_apart({150, 150}, 8, 16, 0.3); }

TEST_P(SupervisedMethod, AHundredClassesInSixteenBits) {
  expect_classes_apart(std::vector<std::size_t>(100, 12), 20, 16, 0.6);
}

TEST_P(SupervisedMethod, NineteenOfTwentySamplesInOneClass) {
  // Hyperplanes through the mean of the data, as the authors of these have them, cut through the large class.
  const bool through_the_mean = GetParam().name() == "itq-cca:paper" || GetParam().name() == "bre:paper";
  expect_classes_apart({570, 30}, 8, 8, through_the_mean ? 0.9 : 0.4);
}

TEST_P(SupervisedMethod, FiveSamplesPerClass) { expect_classes_apart({5, 5, 5, 5}, 8, 12, 0.6); }

TEST_P(SupervisedMethod, AThirdOfTheSamplesUnlabelled) {
  expect_classes_apart({80, 80, 80, 80, 80}, 8, 16, 0.5, 1.0 / 3);
}

TEST_P(SupervisedMethod, MoreDimensionsThanSamples) { expect_classes_apart({12, 12, 12}, 60, 8, 0.7); }

TEST_P(SupervisedMethod, AClassOfOneSample) {
  const ClassesOfSizes data = classes_of_sizes({60, 60, 1}, 8, 3, 2);
  TrainOptions options = options_for(GetParam(), 8, data.x.size());
  options.labels = data.labels;
  EXPECT_EQ(train(data.x, options).bits(), 8U);
}

TEST_P(SupervisedMethod, FewerThanTwoClassesAreRefused) {
  const ClassesOfSizes data = classes_of_sizes({40, 40}, 8, 3, 2);
  TrainOptions options = options_for(GetParam(), 8, data.x.size());
  options.labels.assign(80, 4);
  EXPECT_BDNN_ERROR(train(data.x, options), misuse, "all labelled samples have the same label; " + GetParam().method);
  options.labels[7] = -1;
  EXPECT_BDNN_ERROR(train(data.x, options), misuse, "all labelled samples have the same label; " + GetParam().method);
  options.labels.assign(80, -1);
  EXPECT_BDNN_ERROR(train(data.x, options), misuse, "all samples are unlabelled (-1); " + GetParam().method);
  options.labels.clear();
  EXPECT_BDNN_ERROR(train(data.x, options), misuse, "learns from labels; give one label per vector");
}

TEST_P(SupervisedMethod, TheNamesOfClassesDoNotMatter) {
  const ClassesOfSizes data = classes_of_sizes({50, 50, 50}, 8, 3, 2);
  TrainOptions options = options_for(GetParam(), 8, data.x.size());
  options.labels = data.labels;
  const Model model = train(data.x, options);
  for (auto& label : options.labels) label = label * 1000000007 + 3;
  EXPECT_EQ(fingerprint(model), fingerprint(train(data.x, options)));
}

TEST_P(SupervisedMethod, ConstantDataIsRefused) {
  TrainOptions options = options_for(GetParam(), 4, 50);
  for (int i = 0; i < 50; ++i) options.labels.push_back(i % 2);
  EXPECT_BDNN_ERROR(train(Vectors(4, 50, std::vector<float>(200, 7.5F)), options), misuse, "are the same");
}

std::vector<Variant> supervised_variants() {
  std::vector<Variant> variants = testing::all_variants();
  std::erase_if(variants, [](const Variant& variant) { return !method_info(variant.method).supervised; });
  return variants;
}

INSTANTIATE_TEST_SUITE_P(Methods, SupervisedMethod, ::testing::ValuesIn(supervised_variants()), testing::variant_name);

}  // namespace
}  // namespace bdnn
