#include "learn/itq_rotation.h"

#include "base/blocks.h"
#include "base/random.h"
#include "codes/hamming.h"
#include "linalg/decompose.h"
#include "linalg/product.h"

namespace bdnn {
namespace {

// B V^T, where B = sgn(R V): all that the next rotation needs, without keeping B.
MatrixXd correlation_with_signs(const MatrixXf& v, const MatrixXd& r, Threads& threads) {
  const auto bits = static_cast<std::size_t>(v.rows());
  const MatrixXf rounded = r.cast<float>();
  const auto rotation = PackedMatrix<float>::from_columns(rounded.data(), bits, bits, bits);
  DoubleSum total{MatrixXd::Zero(v.rows(), v.rows())};
  const MatrixXf zero = MatrixXf::Zero(v.rows(), v.rows());
  sum_over_samples(threads, static_cast<std::size_t>(v.cols()), zero, total, [&](const Range& block, MatrixXf& sum) {
    MatrixXf b(bits, block.count);
    const float* v_block = v.data() + block.first * bits;
    multiply(rotation, v_block, block.count, bits, b.data(), bits);
    b = b.unaryExpr([](float h) { return sign_of(h); });
    add_product_transposed(b.data(), bits, bits, v_block, bits, bits, block.count, sum.data(), bits);
  });
  return std::move(total.value);
}

}  // namespace

MatrixXd itq_rotation(const MatrixXf& v, int rotations, std::uint64_t seed, Threads& threads, Progress& progress) {
  Random random(seed);
  MatrixXd r = random_rotation(static_cast<std::size_t>(v.rows()), random);
  for (int i = 0; i < rotations; ++i) {
    r = closest_rotation(correlation_with_signs(v, r, threads));
    progress.update("rotations", static_cast<std::size_t>(i) + 1, static_cast<std::size_t>(rotations));
  }
  return r;
}

}  // namespace bdnn
