// The last layer of UH-BDNN, W^(n-1) and c^(n-1): what rebuilds samples from their codes.
#pragma once

#include "base/blocks.h"
#include "hash/encoder.h"
#include "learn/target_codes.h"
#include "learn/training_set.h"
#include "linalg/matrix.h"

namespace bdnn {

struct Decoder {
  MatrixXf w;  // D x L
  VectorXf c;  // D
};

// The sums over samples that the best decoder of given codes is a function of.
struct DecoderSums {
  MatrixXd bb;         // B B^T
  VectorXd b;          // B 1
  MatrixXd bx;         // B X^T
  VectorXd x;          // X 1
  double squares = 0;  // ||X||^2
  double samples = 0;

  DecoderSums(std::size_t bits, std::size_t dimension);
};

// Adds the samples x (D x count) with the codes b (L x count, of -1 and +1).
class DecoderPartialSums {
 public:
  DecoderPartialSums(std::size_t bits, std::size_t dimension);
  void clear();
  void add(const float* x, const float* b, std::size_t count);
  void add_to(DecoderSums& total) const;

 private:
  MatrixXf bb_;
  MatrixXf bx_;
  DecoderSums rest_;
};

// The decoder that minimises 1/2m ||X - W B - c 1^T||^2 + lambda1/2 ||W||^2: a ridge regression.
Decoder fit_decoder(const DecoderSums& sums, double lambda1);

// The decoder of the codes that an encoder gives these vectors.
Decoder fit_decoder(const Encoder& encoder, const Vectors& x, double lambda1, Threads& threads);

// As a layer of a model whose samples were seen as (x - offset) * factor: x = (W b + c) / factor + offset.
Layer decoder_layer(const Decoder& decoder, const Scaling& scaling);

// 1/2m ||X - W B - c 1^T||^2
double reconstruction_error(const DecoderSums& sums, const Decoder& decoder);

}  // namespace bdnn
