#include "learn/itq_projection.h"

#include "learn/itq_rotation.h"

namespace bdnn {

ItqProjection::ItqProjection(const Vectors& x, const Moments& moments, std::size_t bits, Threads& threads)
    : bits_(bits), threads_(threads) {
  const MatrixXd all = varying_directions(x, moments, bits, threads);
  const auto varying = static_cast<std::size_t>(all.rows());
  blocks_ = (bits + varying - 1) / varying;
  directions_ = all.topRows(static_cast<Eigen::Index>((bits + blocks_ - 1) / blocks_));
  v_ = outputs_of(affine_network(directions_, moments.mean), x, threads);
}

MatrixXd ItqProjection::rotation(int rotations, std::uint64_t seed, Progress& progress) const {
  constexpr std::uint64_t kNextBlock = 0xbb67ae8584caa73b;
  if (blocks_ == 1) return itq_rotation(v_, rotations, seed, threads_, progress);
  MatrixXd stacked = MatrixXd::Zero(static_cast<Eigen::Index>(bits_), directions_.rows());
  for (std::size_t block = 0; block < blocks_; ++block) {
    const auto first = static_cast<Eigen::Index>(bits_ * block / blocks_);
    const auto size = static_cast<Eigen::Index>(bits_ * (block + 1) / blocks_) - first;
    const MatrixXf some = v_.topRows(size);
    stacked.block(first, 0, size, size) = itq_rotation(some, rotations, seed + block * kNextBlock, threads_, progress);
  }
  return stacked;
}

}  // namespace bdnn
