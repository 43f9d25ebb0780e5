#include "learn/itq_rotation.h"

#include "base/blocks.h"
#include "base/random.h"
#include "codes/hamming.h"
#include "linalg/decompose.h"
#include "linalg/product.h"

namespace bdnn {
namespace {

// B V^T, where B = sgn(R V): all the next rotation depends on, without storing B.
MatrixXd correlation_with_signs(const MatrixXf& v, const MatrixXd& r, Threads& threads) {
  const auto bits = static_cast<std::size_t>(r.rows());
  const auto depth = static_cast<std::size_t>(v.rows());
  const MatrixXf rounded = r.cast<float>();
  const auto rotation = PackedMatrix<float>::from_columns(rounded.data(), bits, depth, bits);
  DoubleSum total{MatrixXd::Zero(r.rows(), r.cols())};
  const MatrixXf zero = MatrixXf::Zero(r.rows(), r.cols());
  sum_over_samples(threads, static_cast<std::size_t>(v.cols()), zero, total, [&](const Range& block, MatrixXf& sum) {
    MatrixXf b(bits, block.count);
    const float* v_block = v.data() + block.first * depth;
    multiply(rotation, v_block, block.count, depth, b.data(), bits);
    b = b.unaryExpr([](float h) { return sign_of(h); });
    add_product_transposed(b.data(), bits, bits, v_block, depth, depth, block.count, sum.data(), bits);
  });
  return std::move(total.value);
}

// Uniform over the bits x depth matrices with orthonormal columns.
MatrixXd random_start(std::size_t bits, std::size_t depth, Random& random) {
  if (bits == depth) return random_rotation(bits, random);
  MatrixXd gaussian(bits, depth);
  for (double& entry : gaussian.reshaped()) entry = random.normal();
  return closest_rotation(std::move(gaussian));
}

}  // namespace

MatrixXd itq_rotation(const MatrixXf& v, int rotations, std::uint64_t seed, Threads& threads, Progress& progress) {
  return itq_rotation(v, static_cast<std::size_t>(v.rows()), rotations, seed, threads, progress);
}

MatrixXd itq_rotation(const MatrixXf& v, std::size_t bits, int rotations, std::uint64_t seed, Threads& threads,
                      Progress& progress) {
  Random random(seed);
  MatrixXd r = random_start(bits, static_cast<std::size_t>(v.rows()), random);
  for (int i = 0; i < rotations; ++i) {
    r = closest_rotation(correlation_with_signs(v, r, threads));
    progress.update("rotations", static_cast<std::size_t>(i) + 1, static_cast<std::size_t>(rotations));
  }
  return r;
}

}  // namespace bdnn
