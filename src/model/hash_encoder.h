// From vectors to codes, a block at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/threads.h"
#include "bdnn/model.h"
#include "bdnn/vectors.h"
#include "linalg/product.h"

namespace bdnn {

// A network made ready to run on blocks of samples; shared by all threads.
class HashEncoder {
 public:
  explicit HashEncoder(const Network& network);

  std::size_t dimension() const { return dimension_; }
  std::size_t bits() const { return bits_; }

  // Room for the outputs of the layers on one tile; each thread has its own.
  struct Scratch {
    std::vector<float> layer[2];
  };

  // The outputs of the last layer, before the sign: bits() x count, in `scratch`. x is dimension() x count.
  const float* outputs(const float* x, std::size_t count, Scratch& scratch) const;

  // The codes of x. Returns the first sample whose outputs are not finite, or `count`.
  std::size_t encode(const float* x, std::size_t count, Scratch& scratch, std::uint8_t* codes) const;

 private:
  struct PackedLayer {
    PackedMatrix<float> weight;
    std::vector<float> bias;
    Activation activation;
  };
  std::vector<PackedLayer> layers_;
  std::size_t dimension_ = 0;
  std::size_t bits_ = 0;
};

// The outputs for all vectors: bits() x x.size().
void outputs_of(const HashEncoder& encoder, const Vectors& x, Threads& threads, float* outputs);

// Raises Error where layers are missing or do not fit together.
void validate(const Network& network);
void validate(const Model& model);

// The encoder of whatever form the model has.
HashEncoder make_encoder(const Model& model);

}  // namespace bdnn
