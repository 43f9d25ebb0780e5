#include "learn/neighbour_term.h"

#include <algorithm>
#include <cmath>

#include "linalg/activation.h"
#include "linalg/product.h"

namespace bdnn {

NeighbourTerm::NeighbourTerm(NeighbourLists lists, double weight, double temperature)
    : far_(lists.per_anchor > lists.near ? 4 : 0),
      lists_(std::move(lists)),
      weight_(weight),
      temperature_(temperature) {}

std::vector<std::uint32_t> NeighbourTerm::draw(std::size_t size, Random& random) const {
  const std::size_t anchors = std::max<std::size_t>(2, size / group());
  std::vector<std::uint32_t> batch(anchors);
  std::vector<std::uint32_t> others;
  for (std::size_t a = 0; a < anchors; ++a) {
    const std::size_t anchor = random.below(lists_.anchors.size());
    const std::uint32_t* list = lists_.neighbours.data() + anchor * lists_.per_anchor;
    batch[a] = lists_.anchors[anchor];
    for (std::size_t i = 0; i < kNear; ++i) others.push_back(list[random.below(lists_.near)]);
    for (std::size_t i = 0; i < far_; ++i) {
      others.push_back(list[lists_.near + random.below(lists_.per_anchor - lists_.near)]);
    }
  }
  batch.insert(batch.end(), others.begin(), others.end());
  return batch;
}

double NeighbourTerm::evaluate(const float* h, std::size_t bits, std::span<const std::uint32_t> places,
                               float* gradient) {
  const std::size_t n = places.size();
  const std::size_t anchors = n / group();
  t_.assign(h, h + bits * n);
  const std::vector<float> no_bias(bits, 0.0F);
  add_bias_and_tanh(no_bias.data(), bits, n, t_.data());
  const auto inverse = static_cast<float>(1 / temperature_);
  scaled_.resize(bits * anchors);
  for (std::size_t i = 0; i < scaled_.size(); ++i) scaled_[i] = t_[i] * inverse;

  // s (anchors x n), and from it e^(s - the anchor's largest).
  s_.resize(anchors * n);
  multiply(PackedMatrix<float>::from_rows(scaled_.data(), anchors, bits, bits), t_.data(), n, bits, s_.data(), anchors);
  std::vector<float> largest(anchors, -1e30F);
  const auto is_near = [&](std::size_t a, std::size_t j) {
    const std::size_t first = anchors + a * (group() - 1);
    return j >= first && j < first + kNear;
  };
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t a = 0; a < anchors; ++a) {
      if (j != a) largest[a] = std::max(largest[a], s_[j * anchors + a]);
    }
  }
  for (std::size_t a = 0; a < anchors; ++a) {
    s_[a * anchors + a] = largest[a];  // an anchor is not compared with itself
    largest[a] = -largest[a];
  }
  add_bias_and_exp(largest.data(), anchors, n, s_.data());
  std::vector<double> others(anchors, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t a = 0; a < anchors; ++a) {
      if (j != a && !is_near(a, j)) others[a] += static_cast<double>(s_[j * anchors + a]);
    }
  }

  // d term / ds, in the place of s.
  const double scale = weight_ / static_cast<double>(anchors * kNear);
  double sum = 0;
  std::vector<float> pull(anchors, 0.0F);  // of an anchor's others: scale * sum over p of 1 / (e_p + others)
  std::vector<float> near_slopes(anchors * kNear);
  for (std::size_t a = 0; a < anchors; ++a) {
    for (std::size_t i = 0; i < kNear; ++i) {
      const double e = static_cast<double>(s_[(anchors + a * (group() - 1) + i) * anchors + a]);
      const double share = 1 / (e + others[a]);
      sum -= std::log(std::max(e * share, 1e-30));
      pull[a] += static_cast<float>(scale * share);
      near_slopes[a * kNear + i] = static_cast<float>(-scale * others[a] * share);
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t a = 0; a < anchors; ++a) s_[j * anchors + a] *= pull[a];
  }
  for (std::size_t a = 0; a < anchors; ++a) {
    s_[a * anchors + a] = 0;
    for (std::size_t i = 0; i < kNear; ++i) {
      s_[(anchors + a * (group() - 1) + i) * anchors + a] = near_slopes[a * kNear + i];
    }
  }

  // d term / dt: of all as what an anchor is compared with, and of the anchors themselves; then through the tanh.
  slope_.resize(bits * n);
  multiply(PackedMatrix<float>::from_columns(scaled_.data(), bits, anchors, bits), s_.data(), n, anchors, slope_.data(),
           bits);
  anchor_slope_.assign(bits * anchors, 0.0F);
  add_product_transposed(t_.data(), bits, bits, s_.data(), anchors, anchors, n, anchor_slope_.data(), bits);
  for (std::size_t i = 0; i < anchor_slope_.size(); ++i) slope_[i] += inverse * anchor_slope_[i];
  for (std::size_t i = 0; i < slope_.size(); ++i) gradient[i] += slope_[i] * (1 - t_[i] * t_[i]);
  return weight_ * sum / static_cast<double>(anchors * kNear);
}

}  // namespace bdnn
