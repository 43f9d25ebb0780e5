#include "learn/network_start.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/random.h"
#include "learn/decoder.h"
#include "linalg/decompose.h"

namespace bdnn {
namespace {

std::size_t between(double at, double low, double high, double from, double to) {
  return static_cast<std::size_t>(std::lround(from + (at - low) / (high - low) * (to - from)));
}

// Working memory for the layers' outputs of a few samples.
struct HiddenOutputs {
  std::vector<std::vector<float>> layers;
  std::vector<float*> pointers;

  HiddenOutputs(const LayerSizes& sizes, std::size_t samples) {
    for (std::size_t l = 0; l < sizes.count(); ++l) layers.emplace_back(samples * sizes.outputs(l));
    for (auto& layer : layers) pointers.push_back(layer.data());
  }
  const float* last() const { return pointers.back(); }
};

}  // namespace

std::vector<std::size_t> default_hidden_units(std::size_t bits, std::size_t dimension) {
  const auto l = static_cast<double>(bits);
  std::size_t second = 90;
  std::size_t third = 20;
  if (bits > 32) {
    second = 5 * bits / 2 + 40;
    third = 5 * bits / 4 + 10;
  } else if (bits > 24) {
    second = between(l, 24, 32, 100, 120);
    third = between(l, 24, 32, 40, 50);
  } else if (bits > 16) {
    second = between(l, 16, 24, 90, 100);
    third = between(l, 16, 24, 30, 40);
  } else if (bits > 8) {
    third = between(l, 8, 16, 20, 30);
  }
  return {std::min(second, dimension), std::min(third, dimension)};
}

std::vector<std::size_t> parse_hidden_units(const std::string& text) {
  std::vector<std::size_t> units;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + comma, value);
    constexpr std::size_t kMost = 1 << 16;
    if (error != std::errc() || end != text.data() + comma || value == 0 || value > kMost) {
      misuse("hidden={} is not a list of units such as 120,50 (or auto), each from 1 to {}", text, kMost);
    }
    units.push_back(value);
    at = comma + 1;
  }
  return units;
}

void check_eigenvector_start(const LayerSizes& sizes, const Vectors& x) {
  check_directions(x, sizes.bits());
  std::string hidden;
  bool fits = true;
  for (std::size_t l = 0; l < sizes.count(); ++l) {
    fits = fits && sizes.outputs(l) <= sizes.inputs(l);
    if (l > 0) hidden += fmt::format("{}{}", l > 1 ? "," : "", sizes.inputs(l));
  }
  if (fits) return;
  misuse(
      "hidden={} does not fit vectors of dimension {} and codes of {} bits: each layer starts from eigenvectors of the "
      "one before, so units must not grow from layer to layer, nor fall below the bits: {} >= s_2 >= s_3 >= ... >= {}",
      hidden, x.dimension(), sizes.bits(), x.dimension(), sizes.bits());
}

Scaling scaling_for(const Vectors& x, const Moments& moments, double spread, Threads& threads) {
  if (spread > 0) return {moments.mean, std::sqrt(spread / moments.covariance.trace())};
  struct Extremes {
    float least = std::numeric_limits<float>::max();
    float most = std::numeric_limits<float>::lowest();
    void operator+=(const Extremes& other) {
      least = std::min(least, other.least);
      most = std::max(most, other.most);
    }
  };
  Extremes total;
  sum_over_samples(threads, x.size(), Extremes(), total, [&](const Range& block, Extremes& extremes) {
    std::vector<float> scratch(x.dimension());
    for (std::size_t i = block.first; i < block.first + block.count; ++i) {
      const float* values = x.floats(i, 1, scratch.data());
      const auto [least, most] = std::minmax_element(values, values + x.dimension());
      extremes += {*least, *most};
    }
  });
  const double range = static_cast<double>(total.most) - static_cast<double>(total.least);
  return {VectorXd::Constant(moments.mean.size(), total.least), 1 / range};
}

WeightStart weight_start_for(WeightStart way, bool linear_path) {
  if (way != WeightStart::automatic) return way;
  return linear_path ? WeightStart::random : WeightStart::covariance;
}

std::vector<float> eigenvector_start(const LayerSizes& sizes, const TrainingSet& set, const Moments& moments,
                                     WeightStart way, Threads& threads) {
  const bool centred = way != WeightStart::second_moment;
  std::vector<float> parameters(sizes.parameters(), 0.0F);
  for (std::size_t l = 0; l < sizes.count(); ++l) {
    const std::size_t inputs = sizes.inputs(l);
    MatrixXd second;  // moments of the layer's inputs
    VectorXd mean;
    if (l == 0) {
      const Scaling& scaling = set.scaling();
      second = MatrixXd(moments.covariance.selfadjointView<Eigen::Lower>()) * (scaling.factor * scaling.factor);
      mean = (moments.mean - scaling.offset) * scaling.factor;
      if (!centred) second += mean * mean.transpose();
    } else {
      const LayerSizes below = layers_below(l, sizes);
      const LayerStack<float> stack(below, parameters.data(), {.last = Activation::sigmoid});
      DoubleSum total{MatrixXd::Zero(static_cast<Eigen::Index>(inputs), static_cast<Eigen::Index>(inputs + 1))};
      const MatrixXf zero = total.value.cast<float>();
      sum_over_samples(threads, set.size(), zero, total, [&](const Range& block, MatrixXf& sum) {
        const std::size_t tile = samples_per_tile(set.dimension());
        std::vector<float> x(tile * set.dimension());
        HiddenOutputs hidden(below, tile);
        for_each_tile(block, tile, [&](std::size_t first, std::size_t n) {
          set.load(first, n, x.data());
          stack.forward(x.data(), n, hidden.pointers);
          add_gram_lower(hidden.last(), inputs, inputs, n, sum.data(), inputs);
          sum.col(sum.cols() - 1) += view(hidden.last(), inputs, n).rowwise().sum();
        });
      });
      const double m = static_cast<double>(set.size());
      second = MatrixXd(total.value.leftCols(total.value.cols() - 1).selfadjointView<Eigen::Lower>()) / m;
      mean = total.value.col(total.value.cols() - 1) / m;
      if (centred) second -= mean * mean.transpose();
    }
    const Eigenpairs top = top_eigenpairs(second, sizes.outputs(l));
    MatrixXd w = top.vectors.transpose();
    if ((way == WeightStart::whitened || way == WeightStart::fitted) && l > 0) {
      const double least = 1e-6 * top.values[0];  // smaller values are rounding
      w.array().colwise() /= top.values.array().max(least).sqrt();
      view(parameters.data() + sizes.biases(l), sizes.outputs(l), 1) = (-(w * mean)).cast<float>();
    }
    view(parameters.data() + sizes.weights(l), sizes.outputs(l), inputs) = w.cast<float>();
  }
  return parameters;
}

std::vector<float> random_start(const LayerSizes& sizes, double variance, std::uint64_t seed) {
  std::vector<float> parameters(sizes.parameters(), 0.0F);
  Random random(seed);
  for (std::size_t l = 0; l + 1 < sizes.count(); ++l) {
    // A sigmoid's outputs have a mean of 1/2 and a variance of about 1/8.
    const double of_inputs = l == 0 ? variance : static_cast<double>(sizes.inputs(l)) / 8;
    const double spread = std::sqrt(4 / of_inputs);
    for (std::size_t unit = 0; unit < sizes.outputs(l); ++unit) {
      double sum = 0;
      for (std::size_t k = 0; k < sizes.inputs(l); ++k) {
        const double w = spread * random.normal();
        parameters[sizes.weights(l) + k * sizes.outputs(l) + unit] = static_cast<float>(w);
        sum += w;
      }
      parameters[sizes.biases(l) + unit] = static_cast<float>(random.normal() - (l == 0 ? 0 : sum / 2));
    }
  }
  return parameters;
}

void fit_linear_path(const LayerSizes& sizes, const TrainingSet& set, const TargetCodes& codes,
                     const std::vector<double>& decays, Threads& threads, const std::vector<float>& parameters,
                     const std::function<void(double decay, const std::vector<float>& parameters)>& visit) {
  const std::size_t bits = sizes.bits();
  const std::size_t last = sizes.count() - 1;
  const RidgeSums sums =
      sums_over(set, sizes.dimension(), bits, threads,
                [&](RidgePartialSums& partial, std::size_t first, std::size_t count, const float* x) {
                  std::vector<float> b(count * bits);
                  for (std::size_t i = 0; i < count; ++i) codes.unpack(first + i, b.data() + i * bits);
                  partial.add(b.data(), x, count);
                });
  for (const double decay : decays) {
    std::vector<float> fitted = parameters;
    const RidgeRegression path = fit_ridge(sums, decay);
    view(fitted.data() + sizes.linear_path(), bits, sizes.dimension()) = path.w;
    view(fitted.data() + sizes.biases(last), bits, 1) = path.c;
    view(fitted.data() + sizes.weights(last), bits, sizes.inputs(last)).setZero();
    visit(decay, fitted);
  }
}

void fit_last_layer(const LayerSizes& sizes, const TrainingSet& set, const TargetCodes& codes, double decay,
                    Threads& threads, std::vector<float>& parameters) {
  const std::size_t last = sizes.count() - 1;
  const std::size_t bits = sizes.bits();
  const LayerSizes below = layers_below(last, sizes);
  const LayerStack<float> stack(below, parameters.data(), {.last = Activation::sigmoid});
  // The regression of a decoder, which here "decodes" codes from hidden outputs.
  const RidgeSums sums =
      sums_over(set, below.bits(), bits, threads,
                [&](RidgePartialSums& partial, std::size_t first, std::size_t count, const float* x) {
                  HiddenOutputs hidden(below, count);
                  stack.forward(x, count, hidden.pointers);
                  std::vector<float> b(count * bits);
                  for (std::size_t i = 0; i < count; ++i) codes.unpack(first + i, b.data() + i * bits);
                  partial.add(b.data(), hidden.last(), count);
                });
  const RidgeRegression layer = fit_ridge(sums, decay);
  view(parameters.data() + sizes.weights(last), bits, below.bits()) = layer.w;
  view(parameters.data() + sizes.biases(last), bits, 1) = layer.c;
}

}  // namespace bdnn
