// Every form of hash function: what it computes, against the definition in double; its file; its limits.
#include <fmt/format.h>
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

ProductQuantizer random_quantizer(const std::vector<std::size_t>& bits, const std::vector<std::size_t>& dimensions,
                                  Random& random) {
  ProductQuantizer function;
  std::size_t outputs = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    function.parts.push_back({bits[i], dimensions[i], random_floats(dimensions[i] << bits[i], random, 2)});
    outputs += dimensions[i];
  }
  function.projection = random_layer(7, outputs, Activation::identity, random);
  return function;
}

// A few thresholds are values that vectors have, and a node may send all vectors to one side.
BoostedTrees random_trees(std::size_t bits, std::size_t trees, std::size_t depth, Random& random) {
  BoostedTrees function{7, bits, trees, depth, {}, {}, {}};
  const std::size_t all = bits * trees;
  for (std::size_t i = 0; i < all * function.nodes(); ++i) {
    function.features.push_back(static_cast<std::uint32_t>(random.below(7)));
  }
  function.thresholds = random_floats(all * function.nodes(), random);
  function.thresholds[0] = std::numeric_limits<float>::max();
  function.thresholds[all * function.nodes() - 1] = -std::numeric_limits<float>::max();
  function.leaves = random_floats(all * (function.nodes() + 1), random);
  return function;
}

// One of each kind: all activations, both kernels, parts of all sizes, trees of all kinds of depth.
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
  all.emplace_back(random_quantizer({8, 4, 1}, {3, 2, 2}, random));
  all.emplace_back(random_quantizer({5, 8}, {9, 1}, random));
  all.emplace_back(random_quantizer(std::vector<std::size_t>(13, 1), std::vector<std::size_t>(13, 1), random));
  all.emplace_back(random_quantizer({3, 2, 6, 2}, {1, 3, 2, 1}, random));
  std::get<ProductQuantizer>(all.back()).unit_inputs = true;
  for (const std::size_t depth : {1, 2, 3, 4, 5, 8}) all.emplace_back(random_trees(13, 3, depth, random));
  all.emplace_back(random_trees(13, 1, 2, random));
  std::get<BoostedTrees>(all.back()).unit_inputs = true;
  return all;
}

// The last example of a form.
template <class Function>
Function example() {
  Function last;
  for (const HashFunction& function : examples()) {
    if (const auto* found = std::get_if<Function>(&function)) last = *found;
  }
  return last;
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

// Node by node. Comparisons are those of floats.
std::vector<double> apply(const BoostedTrees& function, std::vector<double> x) {
  if (function.unit_inputs) x = of_unit_length(std::move(x));
  std::vector<double> sums(function.bits);
  for (std::size_t tree = 0; tree < function.bits * function.trees; ++tree) {
    std::size_t node = 0;
    while (node < function.nodes()) {
      const std::size_t at = tree * function.nodes() + node;
      node = 2 * node + (static_cast<float>(x[function.features[at]]) > function.thresholds[at] ? 2 : 1);
    }
    sums[tree / function.trees] +=
        static_cast<double>(function.leaves[tree * (function.nodes() + 1) + node - function.nodes()]);
  }
  return sums;
}

std::vector<double> expected(const HashFunction& function, const float* x, std::size_t dimension) {
  const std::vector<double> wide(x, x + dimension);
  if (const auto* trees = std::get_if<BoostedTrees>(&function)) return apply(*trees, wide);
  if (const auto* anchors = std::get_if<AnchorNetwork>(&function)) return apply(*anchors, wide);
  return apply(std::get<Network>(function), wide);
}

bool bit_of(const std::uint8_t* code, std::size_t bit) { return (code[bit / 8] >> bit % 8 & 1) != 0; }

// Expects a code to be that of the definition, as far as float can tell.
void expect_code(const ProductQuantizer& function, const std::vector<double>& x, const std::uint8_t* code) {
  const Network projection{{function.projection}, {}, function.unit_inputs};
  const std::vector<double> y = apply(projection, x);
  std::size_t coordinate = 0;
  std::size_t bit = 0;
  for (const auto& part : function.parts) {
    std::vector<double> distances;
    for (std::size_t j = 0; j < std::size_t{1} << part.bits; ++j) {
      distances.push_back(0);
      for (std::size_t k = 0; k < part.dimension; ++k) {
        const double difference = y[coordinate + k] - static_cast<double>(part.codewords[j * part.dimension + k]);
        distances.back() += difference * difference;
      }
    }
    std::size_t index = 0;
    for (std::size_t k = 0; k < part.bits; ++k) index |= bit_of(code, bit + k) ? std::size_t{1} << k : 0;
    const double least = *std::min_element(distances.begin(), distances.end());
    ASSERT_NEAR(distances[index], least, 1e-4 * (1 + least)) << "bits from " << bit << " on";
    coordinate += part.dimension;
    bit += part.bits;
  }
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
    if (!encoder.has_outputs()) continue;
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

TEST_P(FormsTest, CodesAreThoseOfTheDefinition) {
  Random random(10);
  const std::size_t count = 37;
  for (const HashFunction& function : examples()) {
    const HashEncoder encoder(function);
    const std::vector<float> x = random_floats(encoder.dimension() * count, random);
    std::vector<std::uint8_t> codes(count * encoder.bytes_per_code(), 0xff);
    HashEncoder::Scratch scratch;
    ASSERT_EQ(encoder.encode(x.data(), count, scratch, codes.data()), count);
    for (std::size_t i = 0; i < count; ++i) {
      const float* vector = x.data() + i * encoder.dimension();
      const std::uint8_t* code = codes.data() + i * encoder.bytes_per_code();
      for (std::size_t k = encoder.bits(); k < 8 * encoder.bytes_per_code(); ++k) ASSERT_FALSE(bit_of(code, k));
      if (const auto* quantizer = std::get_if<ProductQuantizer>(&function)) {
        expect_code(*quantizer, {vector, vector + encoder.dimension()}, code);
        continue;
      }
      const auto right = expected(function, vector, encoder.dimension());
      for (std::size_t k = 0; k < right.size(); ++k) {
        if (std::abs(right[k]) < 1e-4) continue;  // which float may round to either side
        ASSERT_EQ(bit_of(code, k), right[k] > 0) << "form " << function.index() << ", sample " << i << ", bit " << k;
      }
    }
  }
}

TEST_P(FormsTest, OfEquallyNearCodewordsTheFirstIsTaken) {
  ProductQuantizer function;
  function.projection = {1, 1, {1}, {0}};
  function.parts = {{2, 1, {5, 1, -1, 1}}};
  const HashEncoder encoder{HashFunction(function)};
  HashEncoder::Scratch scratch;
  for (const auto& [x, index] : {std::pair(0.0F, 1), std::pair(1.0F, 1), std::pair(-0.5F, 2), std::pair(3.0F, 0)}) {
    std::uint8_t code = 0;
    ASSERT_EQ(encoder.encode(&x, 1, scratch, &code), 1U);
    EXPECT_EQ(code, index) << x;
  }
}

TEST_P(FormsTest, DistancesThatOverflowAreFound) {
  ProductQuantizer function;
  function.projection = {2, 2, {1, 0, 0, 1}, {0, 0}};
  function.parts = {{1, 1, {0, 0}}, {1, 1, {1e20F, 2}}};
  const HashEncoder encoder{HashFunction(function)};
  HashEncoder::Scratch scratch;
  std::uint8_t codes[2] = {};
  const float x[] = {1, 1e15F, 1, 1e20F};
  EXPECT_EQ(encoder.encode(x, 2, scratch, codes), 0U);  // ||c||^2 itself overflows
  function.parts.back().codewords = {1e18F, 2};
  EXPECT_EQ(HashEncoder{HashFunction(function)}.encode(x, 2, scratch, codes), 2U);
  function.parts.back().codewords = {1e19F, 2};
  EXPECT_EQ(HashEncoder{HashFunction(function)}.encode(x, 2, scratch, codes), 1U);
  const float infinite[] = {std::numeric_limits<float>::infinity(), 1};  // in the part whose codewords are zeros
  EXPECT_EQ(HashEncoder{HashFunction(function)}.encode(infinite, 1, scratch, codes), 0U);
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
    const std::size_t bytes = encoder.bytes_per_code();
    std::vector<std::uint8_t> codes(bytes * count);
    std::vector<std::uint8_t> code(bytes);
    encoder.encode(x.data(), count, scratch, codes.data());
    for (std::size_t i = 0; i < count; ++i) {
      encoder.encode(x.data() + i * encoder.dimension(), 1, scratch, code.data());
      ASSERT_TRUE(std::equal(code.begin(), code.end(), codes.data() + i * bytes));
    }
    if (!encoder.has_outputs()) continue;
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
    EXPECT_EQ(back.has_outputs(), !std::holds_alternative<ProductQuantizer>(function));
  }
}

void expect_damage_is_found(const HashFunction& function) {
  Model model;
  model.function = function;
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

TEST(Forms, EveryTruncationAndEveryFlippedBitOfAnchorsIsFound) { expect_damage_is_found(example<AnchorNetwork>()); }

TEST(Forms, EveryTruncationAndEveryFlippedBitOfAProductQuantizerIsFound) {
  expect_damage_is_found(example<ProductQuantizer>());
}

TEST(Forms, EveryTruncationAndEveryFlippedBitOfTreesIsFound) { expect_damage_is_found(example<BoostedTrees>()); }

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
  Random random(1);
  model.function = random_quantizer({4, 4, 1}, {3, 2, 2}, random);
  EXPECT_EQ(model.describe(),
            (std::vector<std::string>{"7 -> 7 identity", "2 subspaces: the nearest of 16 codewords, 4 bits each",
                                      "1 subspace: the nearest of 2 codewords, 1 bit"}));
  model.function = random_trees(12, 5, 3, random);
  EXPECT_EQ(model.describe(), std::vector<std::string>{"7 -> 12, each the sum of 5 trees of depth 3"});
}

TEST(Forms, WhatDoesNotFitIsRefused) {
  const auto good = example<AnchorNetwork>();
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

TEST(Forms, AProductQuantizerThatDoesNotFitIsRefused) {
  const auto good = example<ProductQuantizer>();  // parts of 3, 2, 6 and 2 bits, of dimension 1, 3, 2 and 1
  const auto refused = [&](const auto& change, const std::string& message) {
    ProductQuantizer bad = good;
    change(bad);
    EXPECT_BDNN_ERROR(HashEncoder{HashFunction(bad)}, misuse, message);
    Model model;
    model.function = bad;
    EXPECT_BDNN_ERROR(serialize_model(model), misuse, message);
  };
  refused([](auto& f) { f.parts.clear(); }, "the product quantizer has no parts");
  refused([](auto& f) { f.parts[1].codewords.pop_back(); },
          "part 1 of the product quantizer does not fit: 11 numbers for the codewords of 2 bits, of dimension 3");
  refused([](auto& f) { f.parts[0] = {0, 1, {1}}; }, "part 0 of the product quantizer does not fit");
  refused(
      [](auto& f) {
        f.parts[0] = {9, 1, std::vector<float>(512)};
      },
      "part 0 of the product quantizer does not fit");
  refused([](auto& f) { f.parts[0] = {3, 0, {}}; }, "part 0 of the product quantizer does not fit");
  refused([](auto& f) { f.parts.pop_back(); }, "have 6 coordinates, its projection gives 7");
  refused([](auto& f) { f.projection.bias.pop_back(); },
          "the projection does not fit: 7 inputs, 7 outputs, 49 weights");
  refused([](auto& f) { f.projection.activation = Activation::tanh; }, "7 biases, tanh");
}

TEST_P(FormsTest, AValueAtAThresholdGoesLeft) {
  const BoostedTrees function{1, 1, 1, 1, {0}, {2.5F}, {-3, 4}};
  const HashEncoder encoder{HashFunction(function)};
  HashEncoder::Scratch scratch;
  const float x[] = {2.5F, std::nextafter(2.5F, 3.0F), -1e30F, 1e30F};
  const float* h = encoder.outputs(x, 4, scratch);
  EXPECT_EQ(std::vector<float>(h, h + 4), (std::vector<float>{-3, 4, -3, 4}));
}

TEST_P(FormsTest, SumsOfTreesThatOverflowAreFound) {
  const BoostedTrees function{1, 1, 2, 1, {0, 0}, {0, 0}, {1, 3e38F, 1, 3e38F}};
  const HashEncoder encoder{HashFunction(function)};
  HashEncoder::Scratch scratch;
  std::uint8_t codes[2] = {};
  const float x[] = {-1, 1};
  EXPECT_EQ(encoder.encode(x, 2, scratch, codes), 1U);
}

TEST(Forms, TreesThatDoNotFitAreRefused) {
  Random random(1);
  const BoostedTrees good = random_trees(3, 2, 2, random);
  const auto refused = [&](const auto& change, const std::string& message) {
    BoostedTrees bad = good;
    change(bad);
    EXPECT_BDNN_ERROR(HashEncoder{HashFunction(bad)}, misuse, message);
    Model model;
    model.function = bad;
    EXPECT_BDNN_ERROR(serialize_model(model), misuse, message);
    TensorFileWriter writer({"bdnn.model", "model", 4});  // as another program could write it
    write_function(HashFunction(bad), writer);
    EXPECT_THROW(parse_model(writer.finish(), "m"), Error) << message;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  refused([](auto& f) { f.features[4] = 7; }, "a boosted tree uses value 7 of vectors of dimension 7");
  refused([](auto& f) { f.features[4] = 0xffffffff; }, "uses value 4294967295");
  refused([&](auto& f) { f.thresholds[3] = nan; }, "an infinite or undefined number");
  refused([](auto& f) { f.leaves[3] = std::numeric_limits<float>::infinity(); }, "an infinite or undefined number");
  refused([](auto& f) { f.dimension = 0; }, "take vectors of dimension 1 to 1048576, not 0");
  refused([](auto& f) { f.dimension = std::size_t{1} << 40; }, "take vectors of dimension 1 to 1048576");
  refused([](auto& f) { f.trees = 0; }, "there are no boosted trees");
  refused([](auto& f) { f.depth = 9; }, "2 boosted trees of depth 9 for each of 3 bits are not possible");
  refused([](auto& f) { f.leaves.pop_back(); }, "do not fit: 18 features and 18 thresholds for 18 nodes, 23 numbers");
  refused([](auto& f) { f.thresholds.pop_back(); }, "18 features and 17 thresholds for 18 nodes");
  refused([](auto& f) { f.features.pop_back(); }, "17 features and 18 thresholds for 18 nodes");
}

std::size_t size_of(const std::vector<std::size_t>& shape) {
  std::size_t size = 1;
  for (const std::size_t extent : shape) size *= extent;
  return size;
}

// A file as another program could write it: trees of these shapes.
std::string trees_file(const std::string& dimension, const std::vector<std::size_t>& nodes,
                       const std::vector<std::size_t>& leaves) {
  TensorFileWriter writer({"bdnn.model", "model", 4});
  writer.fact("form", "trees");
  writer.fact("dimension", dimension);
  writer.tensor("trees.features", std::vector<std::uint32_t>(size_of(nodes)), nodes);
  writer.tensor("trees.thresholds", std::vector<float>(size_of(nodes)), nodes);
  writer.tensor("trees.leaves", std::vector<float>(size_of(leaves)), leaves);
  return writer.finish();
}

TEST(Forms, FilesOfTreesThatDoNotFitAreRefused) {
  const auto refused = [](const std::string& file, const char* message) {
    EXPECT_BDNN_ERROR(parse_model(file, "m"), failure, message);
  };
  refused(trees_file("7", {2, 3, 7}, {2, 3, 8}), "has no 'method'");  // the trees themselves are right
  refused(trees_file("0", {2, 3, 7}, {2, 3, 8}), "take vectors of dimension 1 to 1048576, not 0");
  refused(trees_file("99999999", {2, 3, 7}, {2, 3, 8}), "take vectors of dimension 1 to 1048576, not 99999999");
  refused(trees_file("x", {2, 3, 7}, {2, 3, 8}), "dimension");
  refused(trees_file("7", {2, 3, 6}, {2, 3, 8}), "nodes do not fit their leaves");
  refused(trees_file("7", {2, 4, 7}, {2, 3, 8}), "nodes do not fit their leaves");
  refused(trees_file("7", {6, 7}, {2, 3, 8}), "describes the tensor 'trees.features' wrongly");
  refused(trees_file("7", {1, 1, 1}, {1, 1, 1}), "has trees of 1 leaves, where 2, 4, 8, ... or 256 are possible");
  refused(trees_file("7", {1, 1, 5}, {1, 1, 6}), "has trees of 6 leaves");
  refused(trees_file("7", {1, 1, 511}, {1, 1, 512}), "has trees of 512 leaves");
  refused(trees_file("7", {4097, 1, 1}, {4097, 1, 2}), "gives codes of more than 4096 bits");
}

TEST(Forms, HashFunctionsWithoutOutputsSaySo) {
  const HashEncoder encoder{HashFunction(example<ProductQuantizer>())};
  EXPECT_FALSE(encoder.has_outputs());
  const std::vector<float> x(7);
  HashEncoder::Scratch scratch;
  EXPECT_BDNN_ERROR(encoder.outputs(x.data(), 1, scratch), misuse,
                    "has no outputs before the sign; its codes are indices of codewords");
}

// A file as another program could write it: a projection and codewords of these shapes.
std::string quantizer_file(const std::vector<std::size_t>& weight, std::size_t biases,
                           const std::vector<std::vector<std::size_t>>& codewords) {
  TensorFileWriter writer({"bdnn.model", "model", 2});
  writer.fact("form", "product_quantizer");
  writer.needs_version(2);
  const auto zeros = [&](const std::string& name, const std::vector<std::size_t>& shape) {
    writer.tensor(name, std::vector<float>(size_of(shape)), shape);
  };
  zeros("projection.weight", weight);
  zeros("projection.bias", {biases});
  for (std::size_t i = 0; i < codewords.size(); ++i) zeros(fmt::format("codewords.{}", i), codewords[i]);
  Model empty;  // for the facts that every model has
  empty.function = Network{{{1, 1, {1}, {0}}}};
  const std::string network = serialize_model(empty);
  const TensorFileReader facts(network, "m", {"bdnn.model", "model", 2});
  for (const char* key : {"method", "options", "seed", "data", "samples", "program"}) writer.fact(key, facts.fact(key));
  return writer.finish();
}

TEST(Forms, FilesOfProductQuantizersThatDoNotFitAreRefused) {
  EXPECT_EQ(parse_model(quantizer_file({5, 7}, 5, {{16, 3}, {2, 2}}), "m").bits(), 5U);
  const auto refused = [](const std::string& file, const char* message) {
    EXPECT_BDNN_ERROR(parse_model(file, "m"), failure, message);
  };
  refused(quantizer_file({5, 7}, 4, {{16, 3}, {2, 2}}), "weights and biases that do not fit (projection)");
  refused(quantizer_file({35}, 5, {{16, 3}, {2, 2}}), "describes the tensor 'projection.weight' wrongly");
  refused(quantizer_file({5, 7}, 5, {}), "lacks the tensor 'codewords.0'");
  refused(quantizer_file({5, 7}, 5, {{16, 3}}), "codewords that do not fit its projection");
  refused(quantizer_file({5, 7}, 5, {{16, 3}, {2, 3}}), "codewords that do not fit its projection");
  refused(quantizer_file({5, 7}, 5, {{16, 3}, {2, 2}, {2, 1}}), "codewords that do not fit its projection");
  refused(quantizer_file({5, 7}, 5, {{16, 3}, {4}}), "describes the tensor 'codewords.1' wrongly");
  for (const std::size_t count : {1, 3, 17, 255, 257, 512}) {
    refused(quantizer_file({5, 7}, 5, {{16, 3}, {count, 2}}), "where 2, 4, 8, ... or 256 are possible");
  }
  refused(quantizer_file({4097, 1}, 4097, std::vector<std::vector<std::size_t>>(4097, {2, 1})),
          "gives codes of more than 4096 bits");
}

TEST(Forms, ProgramsBeforeProductQuantizersRefuseThem) {
  Model model;
  model.function = example<ProductQuantizer>();
  const std::string bytes = serialize_model(model);
  EXPECT_BDNN_ERROR(TensorFileReader(bytes, "m", {"bdnn.model", "model", 1}), failure,
                    "is a model of version 2, this program knows up to 1; use a newer bdnn");
}

TEST(Forms, ANetworkThatEndsInASigmoidIsNeitherWrittenNorRead) {
  const HashFunction function = Network{{{1, 1, {1}, {0}, Activation::sigmoid}}};
  Model model;
  model.function = function;
  EXPECT_BDNN_ERROR(serialize_model(model), misuse, "ends in a sigmoid, whose sign is always positive");
  EXPECT_BDNN_ERROR(HashEncoder{function}, misuse, "ends in a sigmoid");
  TensorFileWriter writer({"bdnn.model", "model", 1});  // as another program could write it
  write_function(function, writer);
  EXPECT_BDNN_ERROR(
      parse_model(writer.finish(), "m"), failure,
      "m: is not a usable model: it has a hash function that cannot be used: the network ends in a sigmoid");
}

}  // namespace
}  // namespace bdnn
