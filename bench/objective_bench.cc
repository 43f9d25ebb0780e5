// One evaluation of UH-BDNN's objective and gradient, beside the bare products that it is made of, on one thread. For
// each SIMD target that is named or that the machine has.
//
//     build/bench/bench/objective_bench [--target AVX2]... [SAMPLES [DIMENSION]]
#include <fmt/format.h>

#include "base/random.h"
#include "learn/objective.h"
#include "targets.h"
#include "timing.h"

using namespace bdnn;

namespace {

struct NoTerm final : Similarity {
  double evaluate(const OutputSums&, OutputGradient&) const override { return 0; }
};

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = bench::arguments_of(argc, argv, simd_targets());
  const std::size_t samples = std::stoul(arguments(0, "60000"));
  const std::size_t dimension = std::stoul(arguments(1, "784"));
  Random random(1);
  std::vector<float> values(samples * dimension);
  for (auto& value : values) value = static_cast<float>(random.uniform());
  const Vectors x(dimension, samples, std::move(values));
  const LayerSizes sizes({dimension, 120, 50, 32});
  std::vector<float> parameters(sizes.parameters());
  for (auto& value : parameters) value = static_cast<float>(0.05 * random.normal());
  std::vector<std::uint32_t> rows(samples);
  for (std::size_t i = 0; i < samples; ++i) rows[i] = static_cast<std::uint32_t>(i);
  const TrainingSet set(x, rows, {VectorXd::Constant(static_cast<Eigen::Index>(dimension), 0.5), 2});
  const TargetCodes codes(32, samples);
  Threads threads(1);
  const NoTerm none;
  Objective<float> objective(sizes, {1e-5, 0.05, 0.01, 1e-6}, none, codes, samples, threads);
  const Batch<float> batch = whole<float>(set);
  std::vector<double> gradient(parameters.size());

  // The bare products: each layer forward, each layer's weights back, and each but the first layer's inputs back.
  const std::size_t tile = samples_per_tile(dimension);
  std::vector<float> h(tile * 120);
  std::vector<float> delta(tile * 120, 0.5F);
  std::vector<float> out(parameters.size());
  const float* data = x.floats(0, samples, nullptr);
  const auto products = [&] {
    std::vector<PackedMatrix<float>> forward;
    std::vector<PackedMatrix<float>> back;
    for (std::size_t l = 0; l < sizes.count(); ++l) {
      const float* w = parameters.data() + sizes.weights(l);
      forward.push_back(PackedMatrix<float>::from_columns(w, sizes.outputs(l), sizes.inputs(l), sizes.outputs(l)));
      back.push_back(PackedMatrix<float>::from_rows(w, sizes.inputs(l), sizes.outputs(l), sizes.outputs(l)));
    }
    for (std::size_t i = 0; i < samples; i += tile) {
      const std::size_t n = std::min(tile, samples - i);
      for (std::size_t l = 0; l < sizes.count(); ++l) {
        const float* input = l == 0 ? data + i * dimension : delta.data();
        multiply(forward[l], input, n, sizes.inputs(l), h.data(), sizes.outputs(l));
        add_product_transposed(delta.data(), sizes.outputs(l), sizes.outputs(l), input, sizes.inputs(l),
                               sizes.inputs(l), n, out.data() + sizes.weights(l), sizes.outputs(l));
        if (l > 0) multiply(back[l], delta.data(), n, sizes.outputs(l), h.data(), sizes.inputs(l));
      }
    }
  };
  fmt::print("{}\n{} x {}, 120-50-32\n", bench::machine(), samples, dimension);
  for (const std::string& target : arguments.targets) {
    force_simd_target(target);
    const auto times = bench::best_times(
        target == "SCALAR" ? 2 : 7, {products, [&] { objective.evaluate(parameters.data(), batch, gradient.data()); }},
        bench::cpu_now);
    fmt::print("{}: bare products {:.3f} s, objective and gradient {:.3f} s, {:.2f} times as long\n", target, times[0],
               times[1], times[1] / times[0]);
  }
}
