// The form of boosted trees: the sign of a sum of decision trees.
#pragma once

#include "model/form.h"

namespace bdnn {

template <>
struct FormOf<BoostedTrees> {
  static constexpr std::string_view kName = "trees";
  static constexpr std::size_t kMaxDepth = 8;
  static constexpr std::size_t kMaxDimension = std::size_t{1} << 20;
  static constexpr std::size_t kMaxTrees = std::size_t{1} << 20;

  static std::size_t dimension(const BoostedTrees& function) { return function.dimension; }
  static std::size_t bits(const BoostedTrees& function) { return function.bits; }
  static void validate(const BoostedTrees& function);
  static std::vector<std::string> describe(const BoostedTrees& function);
  static void write(const BoostedTrees& function, TensorFileWriter& writer);
  static BoostedTrees read(const TensorFileReader& reader);

  class Encoder {
   public:
    static constexpr bool kHasOutputs = true;

    explicit Encoder(const BoostedTrees& function);

    // The sums of the trees, bits x count, in `scratch`; x is dimension x count.
    const float* outputs(const float* x, std::size_t count, EncoderScratch& scratch) const;
    std::size_t encode(const float* x, std::size_t count, EncoderScratch& scratch, std::uint8_t* codes) const;

   private:
    BoostedTrees function_;
  };
};

}  // namespace bdnn
