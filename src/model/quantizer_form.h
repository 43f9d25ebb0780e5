// The form of product quantizers: a projection, and the index of the nearest codeword in each part of it.
#pragma once

#include "linalg/product.h"
#include "model/network_form.h"

namespace bdnn {

template <>
struct FormOf<ProductQuantizer> {
  static constexpr std::string_view kName = "product_quantizer";
  static constexpr std::size_t kMostPartBits = 8;

  static std::size_t dimension(const ProductQuantizer& function) { return function.projection.inputs; }
  static std::size_t bits(const ProductQuantizer& function);
  static void validate(const ProductQuantizer& function);
  static std::vector<std::string> describe(const ProductQuantizer& function);
  static void write(const ProductQuantizer& function, TensorFileWriter& writer);
  static ProductQuantizer read(const TensorFileReader& reader);

  // The nearest codeword c of y is the one with the largest c^T y - ||c||^2 / 2: one product per part.
  class Encoder {
   public:
    static constexpr bool kHasOutputs = false;
    static constexpr std::string_view kCodes = "indices of codewords";

    explicit Encoder(const ProductQuantizer& function);

    // The coordinates in all parts, in `scratch`; x is dimension x count.
    const float* project(const float* x, std::size_t count, EncoderScratch& scratch) const;
    // The nearest codewords of one part, from what project() gave. Returns the first sample whose distances are not
    // finite, or `count`.
    std::size_t nearest(std::size_t part, const float* projected, std::size_t count, EncoderScratch& scratch,
                        std::uint8_t* indices) const;
    std::size_t encode(const float* x, std::size_t count, EncoderScratch& scratch, std::uint8_t* codes) const;

   private:
    struct PackedPart {
      std::size_t first_coordinate;
      std::size_t first_bit;
      PackedMatrix<float> codewords;
      std::vector<float> offsets;  // -||c||^2 / 2
    };
    PackedMatrix<float> projection_;
    std::vector<float> bias_;
    std::vector<PackedPart> parts_;
    std::size_t bits_;
    bool unit_inputs_;
  };
};

}  // namespace bdnn
