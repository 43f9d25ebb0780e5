#include "learn/class_term.h"

#include <algorithm>
#include <cmath>

#include "linalg/activation.h"

namespace bdnn {

ClassTerm::ClassTerm(const TargetCodes& codes, std::span<const std::int32_t> class_of, double weight,
                     double temperature)
    : classes_(codes.size()), class_of_(class_of), weight_(weight) {
  const std::size_t bits = codes.bits();
  std::vector<float> scaled(bits * classes_);
  for (std::size_t c = 0; c < classes_; ++c) codes.unpack(c, scaled.data() + c * bits);
  for (float& value : scaled) value = static_cast<float>(static_cast<double>(value) / temperature);
  codes_ = PackedMatrix<float>::from_rows(scaled.data(), classes_, bits, bits);
  transposed_ = PackedMatrix<float>::from_columns(scaled.data(), bits, classes_, bits);
}

double ClassTerm::evaluate(const float* h, std::size_t bits, std::span<const std::uint32_t> places, float* gradient) {
  const std::size_t n = places.size();
  t_.assign(h, h + bits * n);
  const std::vector<float> no_bias(std::max(bits, classes_), 0.0F);
  add_bias_and_tanh(no_bias.data(), bits, n, t_.data());
  s_.resize(classes_ * n);
  multiply(codes_, t_.data(), n, bits, s_.data(), classes_);
  for (std::size_t i = 0; i < n; ++i) {
    float* s = s_.data() + i * classes_;
    const float largest = *std::max_element(s, s + classes_);
    for (std::size_t c = 0; c < classes_; ++c) s[c] -= largest;
  }
  add_bias_and_exp(no_bias.data(), classes_, n, s_.data());
  const auto labelled = std::count_if(places.begin(), places.end(), [&](std::uint32_t place) {
    return static_cast<std::size_t>(class_of_[place]) < classes_;
  });
  if (labelled == 0) return 0;
  const double scale = weight_ / static_cast<double>(labelled);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    float* s = s_.data() + i * classes_;
    const auto own = static_cast<std::size_t>(class_of_[places[i]]);
    if (own >= classes_) {
      std::fill_n(s, classes_, 0.0F);
      continue;
    }
    double total = 0;
    for (std::size_t c = 0; c < classes_; ++c) total += static_cast<double>(s[c]);
    sum -= std::log(std::max(static_cast<double>(s[own]) / total, 1e-30));
    const auto factor = static_cast<float>(scale / total);
    for (std::size_t c = 0; c < classes_; ++c) s[c] *= factor;
    s[own] -= static_cast<float>(scale);
  }
  slope_.resize(bits * n);
  multiply(transposed_, s_.data(), n, classes_, slope_.data(), bits);
  for (std::size_t i = 0; i < slope_.size(); ++i) gradient[i] += slope_[i] * (1 - t_[i] * t_[i]);
  return scale * sum;
}

}  // namespace bdnn
