#include "model/model_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/files.h"
#include "base/random.h"
#include "codes/bit_groups.h"
#include "expect_error.h"
#include "model/hash_function.h"
#include "temporary_directory.h"

namespace bdnn {
namespace {

using testing::TemporaryDirectory;

Model small_model() {
  Random random(1);
  Network network;
  const std::size_t sizes[] = {5, 4, 3};
  for (std::size_t i = 0; i + 1 < std::size(sizes); ++i) {
    Layer layer;
    layer.inputs = sizes[i];
    layer.outputs = sizes[i + 1];
    layer.activation = i == 0 ? Activation::sigmoid : Activation::identity;
    layer.weight.resize(layer.inputs * layer.outputs);
    layer.bias.resize(layer.outputs);
    for (auto& value : layer.weight) value = static_cast<float>(random.normal());
    for (auto& value : layer.bias) value = static_cast<float>(random.normal());
    network.layers.push_back(layer);
  }
  Model model;
  model.function = network;
  model.record = {"itq", 7, {{"rotations", "50"}}, "train \"quoted\".fvecs", 1234, "bdnn 0.1.0"};
  return model;
}

TEST(ModelFile, RoundTripsBitForBit) {
  const Model model = small_model();
  const std::string bytes = serialize_model(model);
  const Model back = parse_model(bytes, "m");
  EXPECT_EQ(serialize_model(back), bytes);
  EXPECT_EQ(fingerprint(back), fingerprint(model));
  EXPECT_EQ(back.dimension(), 5U);
  EXPECT_EQ(back.bits(), 3U);
  EXPECT_EQ(back.record.method, "itq");
  EXPECT_EQ(back.record.seed, 7U);
  EXPECT_EQ(back.record.samples, 1234U);
  EXPECT_EQ(back.record.data, "train \"quoted\".fvecs");
  EXPECT_EQ(back.record.options, model.record.options);
  const auto& layers = std::get<Network>(back.function).layers;
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].activation, Activation::sigmoid);
  EXPECT_EQ(layers[0].weight, std::get<Network>(model.function).layers[0].weight);
  EXPECT_EQ(layers[1].bias, std::get<Network>(model.function).layers[1].bias);
}

TEST(ModelFile, AReductionRaisesTheVersionAndMustFit) {
  Model model = small_model();
  EXPECT_NE(serialize_model(model).find(R"("version":"1")"), std::string::npos);
  model.reduction = Layer{9, 5, std::vector<float>(45, 0.5F), std::vector<float>(5, 0.25F)};
  const std::string bytes = serialize_model(model);
  EXPECT_NE(bytes.find(R"("version":"5")"), std::string::npos);
  const Model back = parse_model(bytes, "m");
  EXPECT_EQ(back.dimension(), 9U);
  EXPECT_EQ(back.reduction->weight, model.reduction->weight);
  EXPECT_EQ(back.reduction->bias, model.reduction->bias);
  EXPECT_NE(fingerprint(back), fingerprint(small_model()));
  TensorFileWriter writer({"bdnn.model", "model", 5});  // a reduction to 4, before a network of 5 inputs
  write_function(model.function, writer);
  write_reduction(Layer{9, 4, std::vector<float>(36), std::vector<float>(4)}, writer);
  EXPECT_BDNN_ERROR(parse_model(writer.finish(), "m"), failure, "has a reduction that does not fit its hash function");
}

TEST(ModelFile, ADecoderKeepsItsGroups) {
  Model model = small_model();
  model.decoder = Decoder{{3, 5, std::vector<float>(15, 0.5F), std::vector<float>(5)}};
  EXPECT_EQ(parse_model(serialize_model(model), "m").decoder->group, 1U);
  EXPECT_EQ(serialize_model(model).find("decoder_group"), std::string::npos);  // as before there were groups
  model.decoder = Decoder{{7, 5, std::vector<float>(35, 0.5F), std::vector<float>(5)}, 4};
  const std::string bytes = serialize_model(model);
  const Model back = parse_model(bytes, "m");
  EXPECT_EQ(back.decoder->group, 4U);
  EXPECT_EQ(back.decoder->weight, model.decoder->weight);
  model.decoder->group = 1;
  EXPECT_BDNN_ERROR(serialize_model(model), misuse, "the decoder does not fit: 7 inputs");
  EXPECT_FALSE(BitGroups::is_possible(264, 8));
  EXPECT_TRUE(BitGroups::is_possible(256, 8));
  EXPECT_FALSE(BitGroups::is_possible(2052, 4));
  EXPECT_TRUE(BitGroups::is_possible(2048, 4));
  EXPECT_TRUE(BitGroups::is_possible(1U << 20U, 1));
  EXPECT_FALSE(BitGroups::is_possible(std::numeric_limits<std::size_t>::max(), 4));
  model.decoder->group = 2;
  EXPECT_BDNN_ERROR(serialize_model(model), misuse, "takes 3 bits in groups of 2; 1 is possible");
}

TEST(ModelFile, EveryTruncationIsFound) {
  const std::string bytes = serialize_model(small_model());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(parse_model(bytes.substr(0, length), "m"), Error) << length;
  }
  EXPECT_THROW(parse_model(bytes + "x", "m"), Error);
}

TEST(ModelFile, EveryFlippedBitIsFound) {
  const std::string bytes = serialize_model(small_model());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    EXPECT_THROW(parse_model(flipped, "m"), Error) << bit;
  }
}

// A file whose header says something else, its length mended, its checksum not.
std::string with_header_text(std::string bytes, const std::string& from, const std::string& to) {
  const auto at = bytes.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  bytes.replace(at, from.size(), to);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  length += to.size() - from.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes;
}

TEST(ModelFile, MessagesSayWhatIsWrong) {
  const std::string bytes = serialize_model(small_model());
  EXPECT_BDNN_ERROR(parse_model("", "m.bdnn"), failure, "m.bdnn: is not a usable model: it is only 0 bytes long");
  EXPECT_BDNN_ERROR(parse_model(with_header_text(bytes, R"("version":"1")", R"("version":"6")"), "m.bdnn"), failure,
                    "m.bdnn: is a model of version 6, this program knows up to 5; use a newer bdnn");
  EXPECT_BDNN_ERROR(parse_model(with_header_text(bytes, "bdnn.model", "some.other"), "m"), failure,
                    "is of the format 'some.other'");
  EXPECT_BDNN_ERROR(parse_model(with_header_text(bytes, R"("seed":"7")", R"("seed":"8")"), "m"), failure,
                    "is damaged: its checksum does not match");
  EXPECT_BDNN_ERROR(parse_model(std::string("\x02\0\0\0\0\0\0\0{}", 10), "m"), failure, "has no '__metadata__'");
  const std::string deep = std::string(100000, '[');
  std::string hostile(8, '\0');
  const std::uint64_t length = deep.size();
  std::memcpy(hostile.data(), &length, 8);
  EXPECT_BDNN_ERROR(parse_model(hostile + deep, "m"), failure, "nested too deep");
}

TEST(ModelFile, IsWrittenAndReadAsAFile) {
  const TemporaryDirectory directory;
  save_model(small_model(), directory / "m.bdnn");
  EXPECT_EQ(fingerprint(load_model(directory / "m.bdnn")), fingerprint(small_model()));
  EXPECT_TRUE(looks_like_model(read_whole_file(directory / "m.bdnn", 1 << 20)));
  EXPECT_BDNN_ERROR(load_model(directory / "none"), failure, "none: cannot open");
}

}  // namespace
}  // namespace bdnn
