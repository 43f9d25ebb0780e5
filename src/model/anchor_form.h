// The form of anchors: distances to them, or Gaussians of distances, in front of a network.
#pragma once

#include "model/network_form.h"

namespace bdnn {

// The kernel in front of the network, made ready to run; shared by all threads.
//
// ||x - a||^2 = ||x'||^2 - 2 a'^T x' + ||a'||^2, where x' and a' are x and a minus the mean
// of the anchors: one product for all anchors, and little cancels even if the data lies far from the origin.
class AnchorKernel {
 public:
  explicit AnchorKernel(const AnchorNetwork& function);  // the network is not used

  std::size_t dimension() const { return centre_.size(); }
  std::size_t anchors() const { return squared_norms_.size(); }

  // The distances or Gaussians, anchors() x count, in `scratch`; x is dimension() x count.
  float* features(const float* x, std::size_t count, EncoderScratch& scratch) const;

 private:
  AnchorNetwork::Kernel kernel_;
  bool unit_inputs_;
  float gamma_;
  std::vector<float> centre_;         // the mean of the anchors
  PackedMatrix<float> anchors_;       // a'
  std::vector<float> squared_norms_;  // ||a'||^2
};

template <>
struct FormOf<AnchorNetwork> {
  static constexpr std::string_view kName = "anchors";

  static std::size_t dimension(const AnchorNetwork& function) { return function.dimension; }
  static std::size_t bits(const AnchorNetwork& function) { return FormOf<Network>::bits(function.network); }
  static void validate(const AnchorNetwork& function);
  static std::vector<std::string> describe(const AnchorNetwork& function);
  static void write(const AnchorNetwork& function, TensorFileWriter& writer);
  static AnchorNetwork read(const TensorFileReader& reader);

  class Encoder {
   public:
    static constexpr bool kHasOutputs = true;

    explicit Encoder(const AnchorNetwork& function);

    // The outputs of the network, bits x count, in `scratch`; x is dimension x count.
    const float* outputs(const float* x, std::size_t count, EncoderScratch& scratch) const;
    std::size_t encode(const float* x, std::size_t count, EncoderScratch& scratch, std::uint8_t* codes) const;

   private:
    AnchorKernel kernel_;
    std::size_t bits_;
    FormOf<Network>::Encoder network_;
  };
};

}  // namespace bdnn
