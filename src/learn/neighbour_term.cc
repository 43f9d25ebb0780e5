#include "learn/neighbour_term.h"

#include <algorithm>
#include <cmath>

#include "linalg/activation.h"
#include "linalg/product.h"

namespace bdnn {

NeighbourTerm::NeighbourTerm(NeighbourLists lists, std::vector<NeighbourLevel> levels)
    : lists_(std::move(lists)), levels_(std::move(levels)) {}

std::vector<std::uint32_t> NeighbourTerm::draw(std::size_t size, Random& random) const {
  const std::size_t anchors = std::max<std::size_t>(2, size / (1 + drawn()));
  std::vector<std::uint32_t> batch(anchors);
  for (std::size_t a = 0; a < anchors; ++a) {
    const std::size_t anchor = random.below(lists_.anchors.size());
    const std::uint32_t* list = lists_.neighbours.data() + anchor * lists_.per_anchor;
    batch[a] = lists_.anchors[anchor];
    std::size_t first = 0;
    for (const auto& level : levels_) {
      for (std::size_t i = 0; i < kDrawn; ++i) batch.push_back(list[first + random.below(level.last - first)]);
      first = level.last;
    }
  }
  return batch;
}

// Adds the level's derivative by t to slope_, and returns its part of the term.
double NeighbourTerm::add_level(std::size_t level, std::size_t bits, std::size_t n) {
  const std::size_t anchors = n / (1 + drawn());
  const std::size_t first = kDrawn * level;
  // Whether sample j of the batch is beyond the level for an anchor: not itself, and not of its own up to the level.
  const auto beyond = [&](std::size_t j, std::size_t a) {
    if (j < anchors) return j != a;
    return (j - anchors) / drawn() != a || (j - anchors) % drawn() >= first + kDrawn;
  };
  const auto place_of = [&](std::size_t a, std::size_t i) { return anchors + a * drawn() + first + i; };
  const auto inverse = static_cast<float>(1 / levels_[level].temperature);
  scaled_.resize(bits * anchors);
  for (std::size_t i = 0; i < scaled_.size(); ++i) scaled_[i] = t_[i] * inverse;

  // s (anchors x n), and from it e^(s - the anchor's largest).
  s_.resize(anchors * n);
  multiply(PackedMatrix<float>::from_rows(scaled_.data(), anchors, bits, bits), t_.data(), n, bits, s_.data(), anchors);
  std::vector<float> largest(anchors, -1e30F);
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
      if (beyond(j, a)) others[a] += static_cast<double>(s_[j * anchors + a]);
    }
  }

  // d term / ds, in the place of s.
  const double scale = levels_[level].weight / static_cast<double>(anchors * kDrawn);
  double sum = 0;
  std::vector<float> push(anchors, 0.0F);  // on an anchor's others: scale * sum over p of 1 / (e_p + others)
  std::vector<float> pull(anchors * kDrawn);
  for (std::size_t a = 0; a < anchors; ++a) {
    for (std::size_t i = 0; i < kDrawn; ++i) {
      const auto e = static_cast<double>(s_[place_of(a, i) * anchors + a]);
      const double share = 1 / (e + others[a]);
      sum -= std::log(std::max(e * share, 1e-30));
      push[a] += static_cast<float>(scale * share);
      pull[a * kDrawn + i] = static_cast<float>(-scale * others[a] * share);
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t a = 0; a < anchors; ++a) s_[j * anchors + a] *= beyond(j, a) ? push[a] : 0;
  }
  for (std::size_t a = 0; a < anchors; ++a) {
    for (std::size_t i = 0; i < kDrawn; ++i) s_[place_of(a, i) * anchors + a] = pull[a * kDrawn + i];
  }

  // d term / dt: of all as what an anchor is compared with, and of the anchors themselves.
  level_slope_.resize(bits * n);
  multiply(PackedMatrix<float>::from_columns(scaled_.data(), bits, anchors, bits), s_.data(), n, anchors,
           level_slope_.data(), bits);
  anchor_slope_.assign(bits * anchors, 0.0F);
  add_product_transposed(t_.data(), bits, bits, s_.data(), anchors, anchors, n, anchor_slope_.data(), bits);
  for (std::size_t i = 0; i < anchor_slope_.size(); ++i) level_slope_[i] += inverse * anchor_slope_[i];
  for (std::size_t i = 0; i < slope_.size(); ++i) slope_[i] += level_slope_[i];
  return scale * sum;
}

double NeighbourTerm::evaluate(const float* h, std::size_t bits, std::span<const std::uint32_t> places,
                               float* gradient) {
  const std::size_t n = places.size();
  t_.assign(h, h + bits * n);
  const std::vector<float> no_bias(bits, 0.0F);
  add_bias_and_tanh(no_bias.data(), bits, n, t_.data());
  slope_.assign(bits * n, 0.0F);
  double value = 0;
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    if (levels_[level].weight > 0) value += add_level(level, bits, n);
  }
  for (std::size_t i = 0; i < slope_.size(); ++i) gradient[i] += slope_[i] * (1 - t_[i] * t_[i]);
  return value;
}

}  // namespace bdnn
