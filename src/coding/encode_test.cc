// Runs under ThreadSanitizer: blocks of vectors are encoded on several threads.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "base/simd_target.h"
#include "bdnn/bdnn.h"
#include "data/format.h"
#include "expect_error.h"
#include "temporary_directory.h"

namespace bdnn {
namespace {

using testing::TemporaryDirectory;

Model random_model(const std::vector<std::size_t>& sizes, std::uint64_t seed) {
  Random random(seed);
  Network network;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    Layer layer;
    layer.inputs = sizes[i];
    layer.outputs = sizes[i + 1];
    layer.activation = i + 2 < sizes.size() ? Activation::sigmoid : Activation::identity;
    for (std::size_t k = 0; k < layer.inputs * layer.outputs; ++k) {
      layer.weight.push_back(static_cast<float>(random.normal()));
    }
    for (std::size_t k = 0; k < layer.outputs; ++k) layer.bias.push_back(static_cast<float>(random.normal()));
    network.layers.push_back(std::move(layer));
  }
  return {network, {}, {"test", 0, {}, "mnist", 0, ""}};
}

Vectors random_vectors(std::size_t dimension, std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(dimension * count);
  for (auto& value : values) value = static_cast<float>(random.normal());
  return {dimension, count, std::move(values)};
}

// The network's outputs for one vector, in double.
std::vector<double> naive_outputs(const Network& network, const float* x) {
  std::vector<double> h(x, x + network.layers.front().inputs);
  for (const Layer& layer : network.layers) {
    std::vector<double> next(layer.outputs);
    for (std::size_t i = 0; i < layer.outputs; ++i) {
      double sum = static_cast<double>(layer.bias[i]);
      for (std::size_t k = 0; k < layer.inputs; ++k)
        sum += static_cast<double>(layer.weight[i * layer.inputs + k]) * h[k];
      next[i] = layer.activation == Activation::sigmoid ? 1 / (1 + std::exp(-sum)) : sum;
    }
    h = std::move(next);
  }
  return h;
}

void expect_codes_are_signs(const Model& model, const Vectors& x, const Codes& codes) {
  const auto& network = std::get<Network>(model.function);
  std::vector<float> scratch(x.dimension());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto h = naive_outputs(network, x.floats(i, 1, scratch.data()));
    for (std::size_t b = 0; b < h.size(); ++b) {
      if (std::abs(h[b]) < 1e-3) continue;  // float may round to the other side
      ASSERT_EQ((codes[i][b / 8] >> b % 8) & 1, h[b] >= 0) << "vector " << i << ", bit " << b;
    }
  }
}

RC_GTEST_PROP(EncodeProperty, CodesAreTheSignsOfTheNetwork, ()) {
  const auto size = [](int most) { return static_cast<std::size_t>(*rc::gen::inRange(1, most)); };
  std::vector<std::size_t> sizes = {size(70), size(50)};
  if (*rc::gen::arbitrary<bool>()) sizes.push_back(size(40));
  const Model model = random_model(sizes, *rc::gen::arbitrary<std::uint64_t>());
  const Vectors x = random_vectors(sizes.front(), size(300), 2);
  expect_codes_are_signs(model, x, encode(model, x, 1));
  RC_ASSERT(!::testing::Test::HasFatalFailure());
}

TEST(Encode, IsTheSameForAnyNumberOfThreads) {
  const Model model = random_model({50, 33}, 3);
  const Vectors x = random_vectors(50, 3 * 2048 + 100, 4);
  const Codes one = encode(model, x, 1);
  for (const int threads : {2, 5}) {
    const Codes many = encode(model, x, threads);
    EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * one.bytes_per_code()), 0);
  }
}

TEST(Encode, ACodeDoesNotDependOnItsNeighbours) {
  const Model model = random_model({40, 24}, 5);
  const Vectors x = random_vectors(40, 500, 6);
  const Codes all = encode(model, x);
  for (const std::size_t first : {0, 1, 13, 77, 499}) {
    const Codes one = encode(model, x.slice(first, 1));
    EXPECT_EQ(std::memcmp(one.data(), all[first].data(), one.bytes_per_code()), 0) << first;
  }
}

TEST(Encode, BytesGiveTheCodesOfTheSameFloats) {
  Random random(7);
  constexpr std::size_t kDimension = 30;
  constexpr std::size_t kCount = 200;
  const auto bytes = std::make_shared<std::vector<std::byte>>(kDimension * kCount);
  std::vector<float> floats(kDimension * kCount);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    (*bytes)[i] = static_cast<std::byte>(random.below(256));
    floats[i] = static_cast<float>(std::to_integer<int>((*bytes)[i]));
  }
  const Vectors u8({kDimension, kCount, Element::u8}, {bytes, bytes->data()});
  const Vectors f32(kDimension, kCount, floats);
  const Model model = random_model({kDimension, 16}, 8);
  const Codes a = encode(model, u8);
  const Codes b = encode(model, f32);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * a.bytes_per_code()), 0);
}

TEST(Encode, EverySimdTargetGivesTheRightSigns) {
  const Model model = random_model({100, 50, 20}, 9);
  const Vectors x = random_vectors(100, 300, 10);
  for (const auto& target : simd_targets()) {
    force_simd_target(target);
    expect_codes_are_signs(model, x, encode(model, x));
  }
  force_simd_target("");
}

TEST(Encode, FromFileToFileIsTheSameAsInMemory) {
  const TemporaryDirectory directory;
  const Model model = random_model({20, 30}, 11);
  const Vectors x = random_vectors(20, 2 * 2048 + 5, 12);
  const auto writer = format_for_writing("x.fvecs").create({directory / "x.fvecs", x.shape(), "", {}});
  writer->write(x.size(), x.data());
  writer->finish();
  const Codes expected = encode(model, x);
  for (const int threads : {1, 3}) {
    Progress silent;
    EXPECT_EQ(encode_file(model, directory / "x.fvecs", directory / "x.codes", {.threads = threads}, silent), x.size());
    const Codes codes = load_codes(directory / "x.codes");
    EXPECT_EQ(std::memcmp(codes.data(), expected.data(), codes.size() * codes.bytes_per_code()), 0);
    EXPECT_EQ(codes.origin().model, fingerprint(model));
  }
}

TEST(Encode, NumbersThatASigmoidWouldHideAreFound) {
  const Model model = random_model({4, 6, 8}, 14);
  std::vector<float> values(4 * 10, 1.0F);
  values[4 * 7 + 1] = std::numeric_limits<float>::infinity();
  EXPECT_BDNN_ERROR(encode(model, Vectors(4, 10, std::move(values))), failure, "vector 7 has inf in column 1");
}

TEST(Encode, ANetworkThatDoesNotFitTogetherIsRefused) {
  EXPECT_BDNN_ERROR(encode(Model(), Vectors()), misuse, "the network has no layers");
  Model model = random_model({4, 6, 8}, 15);
  std::get<Network>(model.function).layers[1].inputs = 5;
  EXPECT_BDNN_ERROR(encode(model, random_vectors(4, 2, 1)), misuse, "layer 1 of the network does not fit");
  EXPECT_BDNN_ERROR(fingerprint(model), misuse, "layer 1 of the network does not fit");
}

TEST(Encode, WhatCannotBeEncodedIsNamed) {
  const TemporaryDirectory directory;
  const Model model = random_model({4, 8}, 13);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> values(4 * 3000, 1.0F);
    values[4 * 2500 + 2] = bad;
    values[4 * 2900] = bad;
    const Vectors x(4, 3000, std::move(values));
    EXPECT_BDNN_ERROR(encode(model, x, 2), failure, "vector 2500 has");
    EXPECT_BDNN_ERROR(encode(model, x, 2), failure, "in column 2; only finite numbers can be encoded");
  }
  EXPECT_BDNN_ERROR(encode(model, Vectors(4, 1, std::vector<float>(4, 3e38F))), failure, "overflow");
  EXPECT_BDNN_ERROR(encode(model, random_vectors(5, 2, 1)), misuse,
                    "have dimension 5, the model expects 4 (trained on mnist, test, 8 bits)");
}

TEST(Encoder, GivesWhatEncodeGivesOneByOneAndTogether) {
  const Model model = random_model({20, 15, 13}, 3);
  const Vectors x = random_vectors(20, 5000, 4);
  const Codes codes = encode(model, x);
  Encoder encoder(model, {.threads = 2});
  EXPECT_EQ(encoder.dimension(), 20U);
  EXPECT_EQ(encoder.bits(), 13U);
  EXPECT_EQ(encoder.origin().model, fingerprint(model));
  std::vector<std::uint8_t> code(encoder.bytes_per_code());
  for (int round = 0; round < 2; ++round) {  // it can be used again
    const Codes again = encoder.encode(x);
    EXPECT_TRUE(std::equal(codes.data(), codes.data() + 2 * codes.size(), again.data()));
    for (const std::size_t i : {0, 1, 2048, 4999}) {
      encoder.encode(x.floats(i, 1, nullptr), code.data());
      EXPECT_TRUE(std::equal(code.begin(), code.end(), codes[i].begin())) << i;
    }
  }
}

TEST(Encoder, GivesTheOutputsBeforeTheSign) {
  const Model model = random_model({6, 5, 3}, 3);
  const Vectors x = random_vectors(6, 100, 4);
  std::vector<float> h(300);
  Encoder(model).outputs(x, h.data());
  for (std::size_t i = 0; i < 100; ++i) {
    const auto right = naive_outputs(std::get<Network>(model.function), x.floats(i, 1, nullptr));
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(h[3 * i + k], right[k], 1e-4);
  }
}

TEST(Encoder, RefusesWhatDoesNotFit) {
  const Model model = random_model({6, 3}, 3);
  Encoder encoder(model);
  EXPECT_BDNN_ERROR(encoder.encode(random_vectors(5, 1, 1)), misuse, "have dimension 5, the model expects 6");
  std::vector<float> bad(6, std::numeric_limits<float>::quiet_NaN());
  std::uint8_t code = 0;
  EXPECT_BDNN_ERROR(encoder.encode(bad.data(), &code), failure, "vector 0 has nan in column 0");
  EXPECT_BDNN_ERROR(Encoder(model, {.refined = true}), misuse, "the model has no decoder");
}

TEST(Encode, TakesViewsOfBytesWithoutACopy) {
  const Model model = random_model({8, 5}, 3);
  const std::vector<std::uint8_t> bytes = {1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1};
  const std::vector<float> floats(bytes.begin(), bytes.end());
  const Vectors view = Vectors::view(bytes.data(), 8, 2);
  EXPECT_EQ(reinterpret_cast<const std::uint8_t*>(view.data()), bytes.data());
  const Codes a = encode(model, view);
  const Codes b = encode(model, Vectors::view(floats.data(), 8, 2));
  EXPECT_TRUE(std::equal(a.data(), a.data() + 2, b.data()));
}

TEST(CodesMatch, LengthAndModelAreCompared) {
  const Model model = random_model({8, 5}, 3);
  const Model other = random_model({8, 5}, 4);
  const Vectors x = random_vectors(8, 10, 1);
  EXPECT_NO_THROW(check_codes_match(model, encode(model, x)));
  EXPECT_BDNN_ERROR(check_codes_match(model, encode(other, x)), misuse, "the codes were made by the model");
  EXPECT_NO_THROW(check_codes_match(model, Codes(5, 1, std::vector<std::uint8_t>(1))));  // of an unknown model
  EXPECT_BDNN_ERROR(check_codes_match(model, Codes(6, 1, std::vector<std::uint8_t>(1))), misuse,
                    "the codes have 6 bits, the model's have 5");
}

TEST(CodesMatch, EveryReaderRefusesCodesOfAnotherModel) {
  Model model = random_model({8, 16}, 3);
  model.decoder = Decoder{{16, 8, std::vector<float>(128, 0.5F), std::vector<float>(8)}};
  Model other = model;
  other.decoder->bias[0] = 1;
  const Vectors x = random_vectors(8, 10, 1);
  const Codes codes = encode(other, x);
  const char* message = "the codes were made by the model";
  for (const RankBy by : {RankBy::asymmetric, RankBy::reconstruction}) {
    EXPECT_BDNN_ERROR(CodeRanking(model, by, codes, x), misuse, message);
    EXPECT_BDNN_ERROR(CodeRanking(model, by, Index::build(codes), x), misuse, message);
    EXPECT_BDNN_ERROR(ScoreScan(model, by, codes), misuse, message);
    const std::vector<std::int32_t> ids(10);
    Progress silent;
    EXPECT_BDNN_ERROR(evaluate_scores(model, by, codes, x, Relevance::neighbours(ids, 1), {}, silent), misuse, message);
  }
  EXPECT_BDNN_ERROR(reconstruct(model, codes), misuse, message);
}

}  // namespace
}  // namespace bdnn
