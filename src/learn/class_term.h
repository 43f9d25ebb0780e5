// A term that makes the code of a sample nearer to the code of its class than to the codes of other classes.
//
//   weight * mean over labelled samples i of  -log( e^s(i, class of i) / sum over classes k of e^s(i, k) ),
//   s(i, k) = tanh(h_i)^T c_k / temperature,  c_k the code of class k
//
// It is not in the paper; docs/methods/sh-bdnn.md shows what it gains.
#pragma once

#include "learn/batch_term.h"
#include "learn/target_codes.h"
#include "linalg/product.h"

namespace bdnn {

class ClassTerm final : public BatchTerm {
 public:
  // `class_of`: of every training sample, codes.size() for the unlabelled; kept by the caller.
  ClassTerm(const TargetCodes& codes, std::span<const std::int32_t> class_of, double weight, double temperature);

  double evaluate(const float* h, std::size_t bits, std::span<const std::uint32_t> places, float* gradient) override;

 private:
  std::size_t classes_;
  std::span<const std::int32_t> class_of_;
  double weight_;
  PackedMatrix<float> codes_;       // classes x bits, divided by the temperature
  PackedMatrix<float> transposed_;  // bits x classes
  std::vector<float> t_;
  std::vector<float> s_;
  std::vector<float> slope_;
};

}  // namespace bdnn
