// The form of networks: layers, and the signs of the last layer's outputs.
#pragma once

#include "linalg/product.h"
#include "model/form.h"

namespace bdnn {

template <>
struct FormOf<Network> {
  static constexpr std::string_view kName = "network";

  static std::size_t dimension(const Network& network);
  static std::size_t bits(const Network& network);
  static void validate(const Network& network);
  static std::vector<std::string> describe(const Network& network);
  static void write(const Network& network, TensorFileWriter& writer);
  static Network read(const TensorFileReader& reader);

  class Encoder {
   public:
    static constexpr bool kHasOutputs = true;

    explicit Encoder(const Network& network);

    // The outputs of the last layer, bits x count, in `scratch`; x is dimension x count.
    const float* outputs(const float* x, std::size_t count, EncoderScratch& scratch) const;
    std::size_t encode(const float* x, std::size_t count, EncoderScratch& scratch, std::uint8_t* codes) const;

   private:
    struct PackedLayer {
      PackedMatrix<float> weight;
      std::vector<float> bias;
      Activation activation;
    };
    std::vector<PackedLayer> layers_;
    PackedMatrix<float> linear_;
    std::size_t path_layer_ = 0;  // that the path is added to
    bool unit_inputs_;
    bool squashed_;
  };
};

// One layer of a file, as tensors NAME.weight and NAME.bias.
void write_layer(TensorFileWriter& writer, const std::string& name, const Layer& layer);
Layer read_layer(const TensorFileReader& reader, const std::string& name);

}  // namespace bdnn
