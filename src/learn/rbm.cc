#include "learn/rbm.h"

#include <algorithm>
#include <numeric>

#include "linalg/activation.h"
#include "linalg/product.h"

namespace bdnn {
namespace {

constexpr std::size_t kPiece = 56;    // samples that a thread takes at a time
constexpr std::size_t kColumns = 96;  // columns of the weights that a thread takes at a time

// value += speed, where speed = momentum * speed + rate * gradient - shrink * value
void move(const float* gradient, std::size_t size, float momentum, float rate, float shrink, float* speed,
          float* value) {
  for (std::size_t i = 0; i < size; ++i) {
    speed[i] = momentum * speed[i] + rate * gradient[i] - shrink * value[i];
    value[i] += speed[i];
  }
}

}  // namespace

Rbm::Rbm(std::size_t visible_units, std::size_t hidden_units, double deviation, Random& random)
    : visible(visible_units), hidden(hidden_units), w(visible_units * hidden_units), c(hidden_units), b(visible_units) {
  for (auto& value : w) value = static_cast<float>(deviation * random.normal());
}

ContrastiveDivergence::ContrastiveDivergence(Rbm& rbm, const DivergenceOptions& options, Threads& threads)
    : rbm_(rbm),
      options_(options),
      threads_(threads),
      w_speed_(rbm.w.size()),
      c_speed_(rbm.c.size()),
      b_speed_(rbm.b.size()) {}

double ContrastiveDivergence::step(const float* v, std::size_t samples, double rate, Random& random) {
  const std::size_t visible = rbm_.visible;
  const std::size_t hidden = rbm_.hidden;
  const auto up = PackedMatrix<float>::from_columns(rbm_.w.data(), hidden, visible, hidden);
  const auto down = PackedMatrix<float>::from_rows(rbm_.w.data(), visible, hidden, hidden);
  hidden_.resize(hidden * samples);
  rebuilt_.resize(visible * samples);
  minus_hidden_.resize(hidden * samples);

  const std::size_t pieces = (samples + kPiece - 1) / kPiece;
  std::vector<std::uint64_t> seeds(pieces);
  for (auto& seed : seeds) seed = random.bits();
  std::vector<double> errors(pieces);
  threads_.for_each(pieces, [&](std::size_t piece, int) {
    const std::size_t first = piece * kPiece;
    const std::size_t count = std::min(kPiece, samples - first);
    const float* data = v + first * visible;
    float* h = hidden_.data() + first * hidden;
    float* rebuilt = rebuilt_.data() + first * visible;
    float* after = minus_hidden_.data() + first * hidden;
    multiply(up, data, count, visible, h, hidden);
    add_bias_and_squash(rbm_.c.data(), hidden, count, h);
    Random draws(seeds[piece]);
    for (std::size_t i = 0; i < count * hidden; ++i) after[i] = draws.uniform() < static_cast<double>(h[i]) ? 1 : 0;
    multiply(down, after, count, hidden, rebuilt, visible);
    if (options_.units == VisibleUnits::logistic) {
      add_bias_and_squash(rbm_.b.data(), visible, count, rebuilt);
    } else {
      add_bias(rbm_.b.data(), visible, count, rebuilt);
    }
    multiply(up, rebuilt, count, visible, after, hidden);
    add_bias_and_squash(rbm_.c.data(), hidden, count, after);
    for (std::size_t i = 0; i < count * hidden; ++i) after[i] = -after[i];
    double error = 0;
    for (std::size_t i = 0; i < count * visible; ++i) {
      const double gap = static_cast<double>(data[i]) - static_cast<double>(rebuilt[i]);
      error += gap * gap;
    }
    errors[piece] = error;
  });

  const auto momentum = static_cast<float>(options_.momentum);
  const auto per_sample = static_cast<float>(rate / static_cast<double>(samples));
  const auto shrink = static_cast<float>(rate * options_.decay);
  threads_.for_each((visible + kColumns - 1) / kColumns, [&](std::size_t strip, int) {
    const std::size_t first = strip * kColumns;
    const std::size_t columns = std::min(kColumns, visible - first);
    std::vector<float> gradient(columns * hidden, 0.0F);
    add_product_transposed(hidden_.data(), hidden, hidden, v + first, columns, visible, samples, gradient.data(),
                           hidden);
    add_product_transposed(minus_hidden_.data(), hidden, hidden, rebuilt_.data() + first, columns, visible, samples,
                           gradient.data(), hidden);
    move(gradient.data(), gradient.size(), momentum, per_sample, shrink, w_speed_.data() + first * hidden,
         rbm_.w.data() + first * hidden);
  });
  std::vector<float> gradient(hidden, 0.0F);
  for (std::size_t j = 0; j < samples; ++j) {
    add_bias(hidden_.data() + j * hidden, hidden, 1, gradient.data());
    add_bias(minus_hidden_.data() + j * hidden, hidden, 1, gradient.data());
  }
  move(gradient.data(), hidden, momentum, per_sample, 0, c_speed_.data(), rbm_.c.data());
  gradient.assign(visible, 0.0F);
  for (std::size_t j = 0; j < samples; ++j) {
    for (std::size_t i = 0; i < visible; ++i) gradient[i] += v[j * visible + i] - rebuilt_[j * visible + i];
  }
  move(gradient.data(), visible, momentum, per_sample, 0, b_speed_.data(), rbm_.b.data());
  return std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(samples);
}

}  // namespace bdnn
