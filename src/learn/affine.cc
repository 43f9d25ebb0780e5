#include "learn/affine.h"

#include "base/error.h"
#include "learn/moments.h"
#include "linalg/decompose.h"
#include "model/hash_function.h"

namespace bdnn {

Network affine_network(const MatrixXd& weight, const VectorXd& centre) {
  Layer layer;
  layer.inputs = static_cast<std::size_t>(weight.cols());
  layer.outputs = static_cast<std::size_t>(weight.rows());
  layer.weight.resize(layer.inputs * layer.outputs);
  Eigen::Map<RowMajorXf> rounded(layer.weight.data(), weight.rows(), weight.cols());
  rounded = weight.cast<float>();
  // From the rounded weights, so that the mean itself lands on zero.
  const VectorXf bias = (-(rounded.cast<double>() * centre)).cast<float>();
  layer.bias.assign(bias.begin(), bias.end());
  return {{std::move(layer)}};
}

MatrixXf outputs_of(const Network& network, const Vectors& x, Threads& threads) {
  const HashEncoder encoder(network);
  MatrixXf outputs(encoder.bits(), x.size());
  outputs_of(encoder, x, threads, outputs.data());
  return outputs;
}

void check_directions(const Vectors& x, std::size_t bits) {
  if (bits > x.dimension()) {
    misuse("{} bits need as many directions, but the vectors have dimension {}; ask for at most {} bits, or use lsh",
           bits, x.dimension(), x.dimension());
  }
  if (x.size() <= bits) {
    misuse("{} vectors vary in at most {} directions, too few for {} bits; give more vectors or ask for fewer bits",
           x.size(), x.size() - 1, bits);
  }
}

Moments moments_of(const Vectors& x, Threads& threads, Progress& progress) {
  progress.update("mean and covariance", 0, 2);
  Moments moments;
  moments.mean = mean_of(x, threads);
  progress.update("mean and covariance", 1, 2);
  moments.covariance = covariance_of(x, moments.mean, threads);
  progress.update("mean and covariance", 2, 2);
  if (!moments.covariance.allFinite()) {
    failure("the training data is so large that its squares overflow; scale it down");
  }
  if (!(moments.covariance.trace() > 0)) {
    misuse("all {} vectors are the same; there is nothing to learn from them", x.size());
  }
  return moments;
}

namespace {

// At most `most` of the covariance's leading eigenpairs, and none in whose direction the data does not vary.
Eigenpairs varying_eigenpairs(const Vectors& x, const Moments& moments, std::size_t most, Threads& threads) {
  most = std::min({most, x.dimension(), std::max<std::size_t>(1, x.size() - 1)});
  Eigenpairs top = top_eigenpairs(moments.covariance, most);
  // What lies this far below the largest variance may be rounding of the products in float: look closer.
  constexpr double kDoubtful = 1e-5;
  if (top.values.minCoeff() < kDoubtful * top.values[0]) {
    top = top_eigenpairs(covariance_of(x, moments.mean, threads, Precision::double_products), most);
  }
  // Below this share of the largest, a variance is what rounding of the data itself to float leaves of zero.
  constexpr double kNoise = 1e-13;
  const Eigen::Index varying = (top.values.array() > kNoise * top.values[0]).count();
  return {top.values.head(varying), top.vectors.leftCols(varying)};
}

}  // namespace

MatrixXd varying_directions(const Vectors& x, const Moments& moments, std::size_t most, Threads& threads) {
  return varying_eigenpairs(x, moments, most, threads).vectors.transpose();
}

PrincipalDirections principal_directions(const Vectors& x, const Moments& moments, std::size_t bits, Threads& threads) {
  const Eigenpairs pairs = varying_eigenpairs(x, moments, bits, threads);
  if (static_cast<std::size_t>(pairs.values.size()) < bits) {
    misuse("the data varies in only {} directions, too few for {} bits; ask for at most {} bits, or use lsh",
           pairs.values.size(), bits, pairs.values.size());
  }
  return {moments.mean, pairs.vectors.transpose(), pairs.values};
}

PrincipalDirections principal_directions(const Vectors& x, std::size_t bits, Threads& threads, Progress& progress) {
  check_directions(x, bits);
  return principal_directions(x, moments_of(x, threads, progress), bits, threads);
}

}  // namespace bdnn
