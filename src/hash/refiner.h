// Codes that a model's decoder rebuilds vectors from best.
#pragma once

#include <cstdint>
#include <vector>

#include "bdnn/model.h"
#include "hash/code_descent.h"

namespace bdnn {

// Raises Error where the model has no decoder.
const Layer& decoder_of(const Model& model);

// q = W^T (x - c): what a vector is, seen by a decoder x = W b + c.
class DecoderView {
 public:
  explicit DecoderView(const Layer& decoder);

  // x is D x count, q is L x count; `centred` is room for x - c.
  void project(const float* x, std::size_t count, std::vector<float>& centred, float* q) const;

  MatrixXd gram() const { return gram_; }  // W^T W

 private:
  std::vector<float> c_;
  PackedMatrix<float> transposed_;
  MatrixXd gram_;
};

// Lowers ||x - W b - c||^2 from given codes on; shared by all threads.
class Refiner {
 public:
  Refiner(const Model& model, int local_search);

  struct Scratch {
    std::vector<float> centred;
    std::vector<float> q;
    std::vector<float> b;
  };

  // x is dimension() x count; the codes are those to start from, and receive the result.
  void refine(const float* x, std::size_t count, Scratch& scratch, std::uint8_t* codes) const;

 private:
  std::size_t bits_;
  DecoderView view_;
  CodeDescent descent_;
};

// Codes as numbers: b = +1 where a bit is set, else -1; L x count.
void unpack_codes(const std::uint8_t* codes, std::size_t bits, std::size_t count, float* b);

}  // namespace bdnn
