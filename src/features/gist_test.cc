#include "features/gist.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "base/random.h"
#include "expect_error.h"
#include "features/image.h"

namespace bdnn {
namespace {

constexpr double kPi = std::numbers::pi;
using Plane = std::vector<double>;
using Spectrum = std::vector<std::complex<double>>;

std::vector<float> noise(std::size_t side, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> plane(side * side);
  for (float& value : plane) value = static_cast<float>(random.below(256));
  return plane;
}

std::vector<float> gist_of(const std::vector<float>& plane, const GistOptions& options) {
  const Gist gist(options, static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(plane.size())))));
  Gist::Scratch scratch;
  std::vector<float> features(gist.dimension());
  gist.describe(plane.data(), scratch, features.data());
  return features;
}

// GIST by its definition, in double: every transform is a sum over all pixels.

Spectrum transform(const Spectrum& x, std::size_t n, double sign) {
  Spectrum root(n);
  for (std::size_t k = 0; k < n; ++k) root[k] = std::polar(1.0, sign * 2 * kPi * double(k) / double(n));
  Spectrum out(n * n);
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t u = 0; u < n; ++u) {
      for (std::size_t y = 0; y < n; ++y) {
        for (std::size_t x0 = 0; x0 < n; ++x0) out[v * n + u] += x[y * n + x0] * root[(u * x0 + v * y) % n];
      }
    }
  }
  return out;
}

double frequency(std::size_t k, std::size_t n) { return k < (n + 1) / 2 ? double(k) : double(k) - double(n); }

template <class Gain>
Spectrum filtered(const Plane& x, std::size_t n, const Gain& gain) {
  Spectrum s = transform(Spectrum(x.begin(), x.end()), n, -1);
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t u = 0; u < n; ++u) s[v * n + u] *= gain(frequency(u, n), frequency(v, n)) / double(n * n);
  }
  return transform(s, n, 1);
}

Plane padded(const Plane& x, std::size_t from, std::size_t before, std::size_t after) {
  const std::size_t n = before + from + after;
  Plane out(n * n);
  const auto source = [&](std::size_t i) {
    auto p = static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(before);
    const auto last = static_cast<std::ptrdiff_t>(from) - 1;
    while (p < 0 || p > last) p = p < 0 ? -1 - p : 2 * last + 1 - p;
    return static_cast<std::size_t>(p);
  };
  for (std::size_t y = 0; y < n; ++y) {
    for (std::size_t x0 = 0; x0 < n; ++x0) out[y * n + x0] = x[source(y) * from + source(x0)];
  }
  return out;
}

std::vector<double> naive_gist(const std::vector<float>& grey, std::size_t side, const GistOptions& options) {
  Plane x(grey.begin(), grey.end());
  const double least = *std::min_element(x.begin(), x.end());
  const double most = *std::max_element(x.begin(), x.end());
  for (double& value : x) value = std::log(255 * (value - least) / (most - least) + 1);
  std::size_t n = side + 10;
  Plane wide = padded(x, side, 5, 5);
  if (n % 2 == 1) wide = padded(wide, n++, 0, 1);
  const auto gaussian = [](double fx, double fy) { return std::exp(-(fx * fx + fy * fy) * std::log(2.0) / 16); };
  const Spectrum low = filtered(wide, n, gaussian);
  for (std::size_t i = 0; i < n * n; ++i) wide[i] -= low[i].real();
  Plane squares = wide;
  for (double& value : squares) value *= value;
  const Spectrum variance = filtered(squares, n, gaussian);
  for (std::size_t y = 0; y < side; ++y) {
    for (std::size_t x0 = 0; x0 < side; ++x0) {
      const std::size_t at = (y + 5) * n + x0 + 5;
      x[y * side + x0] = wide[at] / (0.2 + std::sqrt(std::abs(variance[at])));
    }
  }
  const std::size_t p = side + 2 * options.border;
  const Plane bordered = padded(x, side, options.border, options.border);
  std::vector<double> features;
  for (std::size_t s = 0; s < options.orientations.size(); ++s) {
    const auto orientations = double(options.orientations[s]);
    for (std::size_t o = 0; o < options.orientations[s]; ++o) {
      const Spectrum response = filtered(bordered, p, [&](double fx, double fy) {
        double angle = std::arg(std::complex<double>(fx, fy)) + kPi * double(o) / orientations;
        if (angle > kPi) angle -= 2 * kPi;
        const double radius = std::sqrt(fx * fx + fy * fy) / double(p) / (0.3 / std::pow(1.85, double(s)));
        return std::exp(-10 * 0.35 * (radius - 1) * (radius - 1) -
                        2 * kPi * (16 * orientations * orientations / 1024) * angle * angle);
      });
      for (std::size_t bx = 0; bx < options.blocks; ++bx) {
        for (std::size_t by = 0; by < options.blocks; ++by) {
          double sum = 0;
          double count = 0;
          for (std::size_t y = by * side / options.blocks; y < (by + 1) * side / options.blocks; ++y) {
            for (std::size_t x0 = bx * side / options.blocks; x0 < (bx + 1) * side / options.blocks; ++x0) {
              sum += std::abs(response[(y + options.border) * p + x0 + options.border]);
              count += 1;
            }
          }
          features.push_back(sum / count);
        }
      }
    }
  }
  return features;
}

TEST(Gist, EqualsItsDefinition) {
  const std::pair<std::size_t, GistOptions> cases[] = {
      {12, {.orientations = {3, 2}, .blocks = 2, .border = 4}},
      {9, {.orientations = {8}, .blocks = 3, .border = 7}},
      {7, {.orientations = {2, 4, 1}, .blocks = 4, .border = 9}},  // a border that is wider than the image
      {11, {.orientations = {4}, .blocks = 1, .border = 0}},
  };
  std::uint64_t seed = 1;
  for (const auto& [side, options] : cases) {
    const auto plane = noise(side, seed++);
    const auto right = naive_gist(plane, side, options);
    const auto features = gist_of(plane, options);
    ASSERT_EQ(features.size(), right.size());
    ASSERT_EQ(features.size(), gist_dimension(options));
    for (std::size_t i = 0; i < right.size(); ++i) EXPECT_NEAR(features[i], right[i], 2e-6) << side << ", " << i;
    EXPECT_GT(*std::max_element(right.begin(), right.end()), 0.05);
  }
}

TEST(Gist, FiltersByHand) {
  EXPECT_DOUBLE_EQ(gabor(0.3, 0, 0, 0, 8), 1);                    // the centre of the first filter
  EXPECT_NEAR(gabor(0.3 / 1.85, 0, 1, 0, 8), 1, 1e-15);           // the next scale
  EXPECT_NEAR(gabor(0, -0.3, 0, 4, 8), 1, 1e-15);                 // half of the orientations on, a quarter turn
  EXPECT_NEAR(gabor(0, 0, 0, 0, 8), 0.030197383422319, 1e-15);    // exp(-3.5)
  EXPECT_NEAR(gabor(0.6, 0, 0, 0, 4), 0.030197383422319, 1e-15);  // an octave above
  EXPECT_NEAR(gabor(0, 0.3, 0, 0, 4), 0.020738060716983, 1e-15);  // exp(-2 pi / 4 (pi / 2)^2), a quarter turn away
  EXPECT_EQ(gist_dimension({}), 512U);
  EXPECT_EQ(gist_dimension({.orientations = {8, 8, 4}}), 320U);
}

TEST(Gist, AnImageOfOneColourGivesZeros) {
  const auto features = gist_of(std::vector<float>(16 * 16, 77.0F), {.border = 4});
  EXPECT_EQ(features, std::vector<float>(512));
}

TEST(Gist, DoesNotSeeBrightnessAndContrast) {
  const auto plane = noise(16, 3);
  auto other = plane;
  for (float& value : other) value = 0.25F * value + 50.0F;
  const auto a = gist_of(plane, {.border = 8});
  const auto b = gist_of(other, {.border = 8});
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5);
}

// A turn of the filter's frequency by half a circle gives the conjugate response of a real image, so a transposed image
// has the energies of mirrored orientations. Of odd length, no frequency lacks its opposite. Not exactly: the mean,
// which has no direction, counts as one along x.
TEST(Gist, ATransposedImageSwapsOrientationsAndTheGrid) {
  constexpr std::size_t kSide = 15;
  const GistOptions options{.orientations = {8, 6}, .blocks = 3, .border = 4};
  const auto plane = noise(kSide, 4);
  auto transposed = plane;
  for (std::size_t y = 0; y < kSide; ++y) {
    for (std::size_t x = 0; x < kSide; ++x) transposed[x * kSide + y] = plane[y * kSide + x];
  }
  const auto a = gist_of(plane, options);
  const auto b = gist_of(transposed, options);
  std::size_t first = 0;
  for (const std::size_t orientations : options.orientations) {
    for (std::size_t o = 0; o < orientations; ++o) {
      const std::size_t other = (orientations + orientations / 2 - o) % orientations;
      for (std::size_t bx = 0; bx < 3; ++bx) {
        for (std::size_t by = 0; by < 3; ++by) {
          EXPECT_NEAR(b[first + 9 * other + 3 * by + bx], a[first + 9 * o + 3 * bx + by], 1e-3) << o;
        }
      }
    }
    first += 9 * orientations;
  }
}

TEST(Gist, StripesHaveTheEnergyOfTheirOrientationAndScale) {
  constexpr std::size_t kSide = 32;
  std::vector<float> upright(kSide * kSide);
  std::vector<float> lying(kSide * kSide);
  for (std::size_t y = 0; y < kSide; ++y) {
    for (std::size_t x = 0; x < kSide; ++x) {
      const double coarse = 2 * kPi * 0.3 / (1.85 * 1.85);
      upright[y * kSide + x] = static_cast<float>(100 + 50 * std::cos(2 * kPi * 0.3 * static_cast<double>(x)));
      lying[y * kSide + x] = static_cast<float>(100 + 50 * std::cos(coarse * static_cast<double>(y)));
    }
  }
  const auto largest = [](const std::vector<float>& features) {
    std::vector<double> filters;
    for (std::size_t f = 0; f < 32; ++f) {
      filters.push_back(0);
      for (std::size_t i = 0; i < 16; ++i) filters.back() += static_cast<double>(features[16 * f + i]);
    }
    return std::max_element(filters.begin(), filters.end()) - filters.begin();
  };
  EXPECT_EQ(largest(gist_of(upright, {})), 0);     // finest scale, along x
  EXPECT_EQ(largest(gist_of(lying, {})), 16 + 4);  // two scales on, along y
}

TEST(Gist, MistakesSayWhatIsPossible) {
  EXPECT_BDNN_ERROR(Gist({.blocks = 5}, 4), misuse, "5 x 5 blocks does not fit images of 4 x 4");
  EXPECT_BDNN_ERROR(Gist({.orientations = {}}, 8), misuse, "1 to 16 scales");
  EXPECT_BDNN_ERROR(Gist({.orientations = {8, 0}}, 8), misuse, "1 to 64 per scale");
  EXPECT_BDNN_ERROR(Gist({}, 5000), misuse, "at most 1024");
}

}  // namespace
}  // namespace bdnn
