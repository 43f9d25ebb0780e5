// Every form of hash function: what it computes, against the definition in double; its file; its limits.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "base/simd_target.h"
#include "expect_error.h"
#include "model/hash_function.h"
#include "model/model_file.h"

namespace bdnn {
namespace {

std::vector<float> random_floats(std::size_t count, Random& random, double scale = 1) {
  std::vector<float> values(count);
  for (auto& value : values) value = static_cast<float>(scale * random.normal());
  return values;
}

Layer random_layer(std::size_t inputs, std::size_t outputs, Activation activation, Random& random) {
  return {inputs, outputs, random_floats(inputs * outputs, random), random_floats(outputs, random), activation};
}

// One of each kind: all activations, both kernels.
std::vector<HashFunction> examples() {
  Random random(5);
  std::vector<HashFunction> all;
  for (const Activation last : {Activation::identity, Activation::tanh, Activation::cosine}) {
    all.emplace_back(Network{{random_layer(7, 13, last, random)}});
    all.emplace_back(Network{{random_layer(7, 9, Activation::tanh, random), random_layer(9, 13, last, random)}});
    all.emplace_back(Network{{random_layer(7, 13, last, random)}, random_floats(7 * 13, random)});
    all.emplace_back(Network{{random_layer(7, 9, Activation::sigmoid, random), random_layer(9, 13, last, random)},
                             random_floats(7 * 13, random),
                             true});
    all.emplace_back(Network{{random_layer(7, 9, Activation::tanh, random),
                              random_layer(9, 5, Activation::sigmoid, random), random_layer(5, 13, last, random)},
                             random_floats(7 * 5, random),
                             false,
                             1});
  }
  for (const auto kernel : {AnchorNetwork::Kernel::distance, AnchorNetwork::Kernel::gaussian}) {
    for (const std::size_t anchors : {1, 21}) {
      AnchorNetwork function;
      function.kernel = kernel;
      function.gamma = 0.1F;
      function.dimension = 7;
      function.anchors = random_floats(7 * anchors, random);
      function.network = Network{{random_layer(anchors, 13, Activation::identity, random)}};
      function.unit_inputs = anchors == 1;
      all.emplace_back(std::move(function));
    }
  }
  return all;
}

std::vector<double> of_unit_length(std::vector<double> x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  for (double& value : x) value /= std::sqrt(squares);
  return x;
}

std::vector<double> apply(const Network& network, std::vector<double> x) {
  if (network.unit_inputs) x = of_unit_length(std::move(x));
  const std::vector<double> inputs = x;
  for (const Layer& layer : network.layers) {
    std::vector<double> h(layer.outputs);
    for (std::size_t i = 0; i < layer.outputs; ++i) {
      double z = layer.bias[i];
      const bool at_path = &layer == &network.layers[network.layers.size() - 1 - network.layers_after_linear];
      for (std::size_t k = 0; k < inputs.size() && at_path && !network.linear.empty(); ++k) {
        z += static_cast<double>(network.linear[i * inputs.size() + k]) * inputs[k];
      }
      for (std::size_t k = 0; k < layer.inputs; ++k)
        z += static_cast<double>(layer.weight[i * layer.inputs + k]) * x[k];
      switch (layer.activation) {
        case Activation::identity: h[i] = z; break;
        case Activation::sigmoid: h[i] = 1 / (1 + std::exp(-z)); break;
        case Activation::tanh: h[i] = std::tanh(z); break;
        case Activation::cosine: h[i] = std::cos(z); break;
      }
    }
    x = std::move(h);
  }
  return x;
}

std::vector<double> apply(const AnchorNetwork& function, std::vector<double> x) {
  if (function.unit_inputs) x = of_unit_length(std::move(x));
  std::vector<double> inputs(function.anchor_count());
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    double squared = 0;
    for (std::size_t k = 0; k < function.dimension; ++k) {
      const double difference = x[k] - static_cast<double>(function.anchors[j * function.dimension + k]);
      squared += difference * difference;
    }
    inputs[j] = function.kernel == AnchorNetwork::Kernel::distance
                    ? std::sqrt(squared)
                    : std::exp(-static_cast<double>(function.gamma) * squared);
  }
  return apply(function.network, inputs);
}

std::vector<double> expected(const HashFunction& function, const float* x, std::size_t dimension) {
  const std::vector<double> wide(x, x + dimension);
  return std::visit([&](const auto& f) { return apply(f, wide); }, function);
}

class Targets : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_simd_target(GetParam()); }
  void TearDown() override { force_simd_target(""); }
};
using FormsTest = Targets;
INSTANTIATE_TEST_SUITE_P(Targets, FormsTest, ::testing::ValuesIn(simd_targets()));

TEST_P(FormsTest, OutputsAreThoseOfTheDefinition) {
  Random random(9);
  const std::size_t count = 37;
  for (const HashFunction& function : examples()) {
    const HashEncoder encoder(function);
    ASSERT_TRUE(encoder.has_outputs());
    const std::vector<float> x = random_floats(encoder.dimension() * count, random);
    HashEncoder::Scratch scratch;
    const float* h = encoder.outputs(x.data(), count, scratch);
    for (std::size_t i = 0; i < count; ++i) {
      const auto right = expected(function, x.data() + i * encoder.dimension(), encoder.dimension());
      for (std::size_t k = 0; k < right.size(); ++k) {
        ASSERT_NEAR(h[i * encoder.bits() + k], right[k], 2e-5 * (1 + std::abs(right[k])))
            << "form " << function.index() << ", sample " << i << ", output " << k;
      }
    }
  }
}

TEST_P(FormsTest, DistancesSurviveAnOffsetOfTheData) {
  AnchorNetwork function;
  function.kernel = AnchorNetwork::Kernel::distance;
  function.dimension = 3;
  function.anchors = {10000, 10000, 10000, 10003, 10004, 10000};
  function.network = Network{{{2, 1, {1, 0}, {0}}}};
  const HashEncoder encoder{HashFunction(function)};
  const float x[] = {10003, 10004, 10000};
  HashEncoder::Scratch scratch;
  EXPECT_NEAR(encoder.outputs(x, 1, scratch)[0], 5, 1e-5);
}

TEST_P(FormsTest, ASampleGetsTheSameBitsAtAnyPlace) {
  Random random(2);
  const std::size_t count = 29;
  for (const HashFunction& function : examples()) {
    const HashEncoder encoder(function);
    const std::vector<float> x = random_floats(encoder.dimension() * count, random);
    HashEncoder::Scratch scratch;
    const float* h = encoder.outputs(x.data(), count, scratch);
    const std::vector<float> together(h, h + encoder.bits() * count);
    for (std::size_t i = 0; i < count; ++i) {
      const float* alone = encoder.outputs(x.data() + i * encoder.dimension(), 1, scratch);
      ASSERT_TRUE(std::equal(alone, alone + encoder.bits(), together.data() + i * encoder.bits()));
    }
  }
}

TEST_P(FormsTest, WhatIsNotFiniteIsFoundBehindEveryFunction) {
  for (const HashFunction& function : examples()) {
    const HashEncoder encoder(function);
    std::vector<float> x(encoder.dimension() * 3, 0.5F);
    std::vector<std::uint8_t> codes(3 * encoder.bytes_per_code());
    HashEncoder::Scratch scratch;
    EXPECT_EQ(encoder.encode(x.data(), 3, scratch, codes.data()), 3U);
    x[encoder.dimension() + 2] = std::numeric_limits<float>::infinity();
    EXPECT_EQ(encoder.encode(x.data(), 3, scratch, codes.data()), 1U) << "form " << function.index();
    x[encoder.dimension() + 2] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(encoder.encode(x.data(), 3, scratch, codes.data()), 1U) << "form " << function.index();
  }
}

TEST_P(FormsTest, ACosineOfAnAngleThatFloatCannotTellIsNoNumber) {
  const HashEncoder encoder{HashFunction(Network{{{1, 1, {1}, {0}, Activation::cosine}}})};
  std::uint8_t code = 0;
  HashEncoder::Scratch scratch;
  const float near = 38000;
  const float far = 40000;
  EXPECT_EQ(encoder.encode(&near, 1, scratch, &code), 1U);
  EXPECT_EQ(encoder.encode(&far, 1, scratch, &code), 0U);
}

TEST(Forms, RoundTripBitForBit) {
  for (const HashFunction& function : examples()) {
    Model model;
    model.function = function;
    model.record = {"test", 1, {{"a", "b"}}, "data", 10, "bdnn"};
    const std::string bytes = serialize_model(model);
    const Model back = parse_model(bytes, "m");
    EXPECT_EQ(serialize_model(back), bytes);
    EXPECT_EQ(back.function.index(), function.index());
    EXPECT_EQ(back.describe(), model.describe());
    EXPECT_EQ(back.dimension(), 7U);
    EXPECT_EQ(back.bits(), 13U);
    EXPECT_TRUE(back.has_outputs());
  }
}

TEST(Forms, EveryTruncationAndEveryFlippedBitOfAnchorsIsFound) {
  Model model;
  model.function = examples().back();
  const std::string bytes = serialize_model(model);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(parse_model(bytes.substr(0, length), "m"), Error) << length;
  }
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    EXPECT_THROW(parse_model(flipped, "m"), Error) << bit;
  }
}

TEST(Forms, AreDescribedInWords) {
  Model model;
  model.function = Network{{{7, 4, std::vector<float>(28), std::vector<float>(4), Activation::cosine}}};
  EXPECT_EQ(model.describe(), std::vector<std::string>{"7 -> 4 cosine"});
  AnchorNetwork anchors;
  anchors.dimension = 2;
  anchors.anchors = {0, 0, 1, 1, 2, 2};
  anchors.gamma = 0.25F;
  anchors.network = Network{{{3, 1, std::vector<float>(3), std::vector<float>(1)}}};
  model.function = anchors;
  EXPECT_EQ(model.describe(),
            (std::vector<std::string>{"2 -> 3 anchors, Gaussians of distances, gamma 0.25", "3 -> 1 identity"}));
}

TEST(Forms, WhatDoesNotFitIsRefused) {
  AnchorNetwork good = std::get<AnchorNetwork>(examples().back());
  AnchorNetwork bad = good;
  bad.anchors.pop_back();
  EXPECT_BDNN_ERROR(HashEncoder{HashFunction(bad)}, misuse, "the anchors do not fit: 146 numbers");
  bad = good;
  bad.gamma = 0;
  EXPECT_BDNN_ERROR(HashEncoder{HashFunction(bad)}, misuse, "gamma is 0; it must be positive");
  bad = good;
  bad.anchors.resize(14);
  EXPECT_BDNN_ERROR(HashEncoder{HashFunction(bad)}, misuse, "the network behind 2 anchors takes 21 inputs");
}

TEST(Forms, ANetworkThatEndsInASigmoidIsNeitherWrittenNorRead) {
  const HashFunction function = Network{{{1, 1, {1}, {0}, Activation::sigmoid}}};
  Model model;
  model.function = function;
  EXPECT_BDNN_ERROR(serialize_model(model), misuse, "ends in a sigmoid, whose sign says nothing");
  EXPECT_BDNN_ERROR(HashEncoder{function}, misuse, "ends in a sigmoid");
  TensorFileWriter writer({"bdnn.model", "model", 1});  // as another program could write it
  write_function(function, writer);
  EXPECT_BDNN_ERROR(parse_model(writer.finish(), "m"), failure,
                    "m: is no usable model: it has a hash function that cannot be used: the network ends in a sigmoid");
}

}  // namespace
}  // namespace bdnn
