#include "learn/adam.h"

#include <algorithm>
#include <numeric>

#include "base/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "learn/adam.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, 16>;

constexpr float kFirst = 0.9F;
constexpr float kSecond = 0.999F;
constexpr float kEpsilon = 1e-8F;

// n is a multiple of the widest vector.
void adam_step(const float* HWY_RESTRICT gradient, float rate, float second_scale, std::size_t n,
               float* HWY_RESTRICT first, float* HWY_RESTRICT second, float* HWY_RESTRICT parameters) {
  const Tag d;
  const auto keep_first = hn::Set(d, kFirst);
  const auto keep_second = hn::Set(d, kSecond);
  const auto new_first = hn::Set(d, 1 - kFirst);
  const auto new_second = hn::Set(d, 1 - kSecond);
  const auto epsilon = hn::Set(d, kEpsilon);
  const auto step = hn::Set(d, rate);
  const auto scale = hn::Set(d, second_scale);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto g = hn::LoadU(d, gradient + i);
    const auto m = hn::MulAdd(keep_first, hn::LoadU(d, first + i), hn::Mul(new_first, g));
    const auto v = hn::MulAdd(keep_second, hn::LoadU(d, second + i), hn::Mul(new_second, hn::Mul(g, g)));
    hn::StoreU(m, d, first + i);
    hn::StoreU(v, d, second + i);
    const auto size = hn::Add(hn::Sqrt(hn::Mul(v, scale)), epsilon);
    hn::StoreU(hn::Sub(hn::LoadU(d, parameters + i), hn::Div(hn::Mul(step, m), size)), d, parameters + i);
  }
}

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {
HWY_EXPORT(adam_step);

// By products alone: std::pow() of C libraries differs in its last bits.
double power(double base, int exponent) {
  double product = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) product *= base;
  }
  return product;
}

}  // namespace

void Adam::step(const float* gradient, double rate, float* parameters, Threads& threads) {
  choose_simd_target();
  ++steps_;
  const double first_scale = 1 / (1 - power(0.9, steps_));
  const auto second_scale = static_cast<float>(1 / (1 - power(0.999, steps_)));
  const auto scaled_rate = static_cast<float>(rate * first_scale);
  constexpr std::size_t kPiece = 1 << 14;
  constexpr std::size_t kWidest = 16;
  const std::size_t size = first_.size();
  threads.for_each((size + kPiece - 1) / kPiece, [&](std::size_t piece, int) {
    const std::size_t begin = piece * kPiece;
    const std::size_t end = std::min(size, begin + kPiece);
    const std::size_t whole = (end - begin) / kWidest * kWidest;
    HWY_DYNAMIC_DISPATCH(adam_step)
    (gradient + begin, scaled_rate, second_scale, whole, first_.data() + begin, second_.data() + begin,
     parameters + begin);
    if (begin + whole == end) return;
    // The rest, through the same code.
    float rest[4][kWidest] = {};
    const std::size_t n = end - begin - whole;
    const float* from[4] = {gradient, first_.data(), second_.data(), parameters};
    for (std::size_t k = 0; k < 4; ++k) std::copy_n(from[k] + begin + whole, n, rest[k]);
    HWY_DYNAMIC_DISPATCH(adam_step)(rest[0], scaled_rate, second_scale, kWidest, rest[1], rest[2], rest[3]);
    std::copy_n(rest[1], n, first_.data() + begin + whole);
    std::copy_n(rest[2], n, second_.data() + begin + whole);
    std::copy_n(rest[3], n, parameters + begin + whole);
  });
}

double minimise_adam(Objective<float>& objective, const TrainingSet& set, const LayerSizes& sizes,
                     const AdamOptions& options, BatchTerm* term, Random& random, Threads& threads, Progress& progress,
                     std::vector<float>& parameters) {
  const std::size_t samples = set.size();
  const std::size_t dimension = set.dimension();
  const auto wanted = static_cast<std::size_t>(options.batch);
  const std::size_t batches = std::max<std::size_t>(1, (samples + wanted / 2) / wanted);  // in a pass over all samples
  const auto steps = static_cast<std::size_t>(options.steps);
  std::vector<std::uint32_t> order;
  Adam adam(parameters.size());
  std::vector<float> gradient(parameters.size());
  std::vector<float> x;
  constexpr std::size_t kGathered = 64;  // samples that a thread gathers at a time
  OutputSums running = objective.no_sums();
  double weight_so_far = 0;
  const std::size_t last_tenth = steps - (steps + 9) / 10;
  double sum_of_own_terms = 0;

  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t b = step % batches;
    std::size_t first = 0;
    std::size_t count = 0;
    std::vector<std::uint32_t> drawn;
    if (term != nullptr) drawn = term->draw(wanted, random);
    if (!drawn.empty()) {
      order = std::move(drawn);
      count = order.size();
    } else {
      if (step == 0) {
        order.resize(samples);
        std::iota(order.begin(), order.end(), 0U);
      }
      for (std::size_t i = b == 0 ? samples : 0; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
      first = samples * b / batches;
      count = samples * (b + 1) / batches - first;
    }
    x.resize(count * dimension);
    threads.for_each((count + kGathered - 1) / kGathered, [&](std::size_t piece, int) {
      const std::size_t from = piece * kGathered;
      set.load(order.data() + first + from, std::min(kGathered, count - from), x.data() + from * dimension);
    });
    const Batch<float> batch{count, order.data() + first,
                             [&](std::size_t i, std::size_t, std::vector<float>&) { return x.data() + i * dimension; }};
    OutputTerm<float> own_term;
    if (term != nullptr) {
      own_term = [&](const float* h, std::size_t, float* own_gradient) {
        return term->evaluate(h, sizes.bits(), {order.data() + first, count}, own_gradient);
      };
    }
    // Running sums start with the first batch's own, not with zero.
    weight_so_far = (1 - options.blend) * weight_so_far + options.blend;
    const Terms terms = objective.evaluate(parameters.data(), batch, gradient.data(), &running,
                                           options.blend / weight_so_far, own_term);
    if (step >= last_tenth) sum_of_own_terms += terms.of_batch;
    const double done = static_cast<double>(step) / static_cast<double>(steps);
    const double rate = falling_rate(options.rate, done);
    adam.step(gradient.data(), rate, parameters.data(), threads);
    progress.update("network", step + 1, steps);
  }
  return steps == 0 ? 0 : sum_of_own_terms / static_cast<double>(steps - last_tenth);
}

}  // namespace bdnn
#endif  // HWY_ONCE
