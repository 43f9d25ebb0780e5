#include "learn/decoder.h"

#include <Eigen/Cholesky>
#include <algorithm>

#include "linalg/product.h"

namespace bdnn {

DecoderSums::DecoderSums(std::size_t bits, std::size_t dimension) {
  const auto l = static_cast<Eigen::Index>(bits);
  const auto d = static_cast<Eigen::Index>(dimension);
  bb = MatrixXd::Zero(l, l);
  b = VectorXd::Zero(l);
  bx = MatrixXd::Zero(l, d);
  x = VectorXd::Zero(d);
}

DecoderPartialSums::DecoderPartialSums(std::size_t bits, std::size_t dimension) : rest_(bits, dimension) {
  bb_ = MatrixXf::Zero(rest_.bb.rows(), rest_.bb.cols());
  bx_ = MatrixXf::Zero(rest_.bx.rows(), rest_.bx.cols());
}

void DecoderPartialSums::clear() {
  bb_.setZero();
  bx_.setZero();
  rest_.b.setZero();
  rest_.x.setZero();
  rest_.squares = 0;
  rest_.samples = 0;
}

void DecoderPartialSums::add(const float* x, const float* b, std::size_t count) {
  const auto bits = static_cast<std::size_t>(bb_.rows());
  const auto dimension = static_cast<std::size_t>(bx_.cols());
  add_gram_lower(b, bits, bits, count, bb_.data(), bits);
  add_product_transposed(b, bits, bits, x, dimension, dimension, count, bx_.data(), bits);
  rest_.b += view(b, bits, count).rowwise().sum().cast<double>();
  rest_.x += view(x, dimension, count).cast<double>().rowwise().sum();
  rest_.squares += view(x, dimension, count).cast<double>().squaredNorm();
  rest_.samples += static_cast<double>(count);
}

void DecoderPartialSums::add_to(DecoderSums& total) const {
  total.bb += MatrixXf(bb_.selfadjointView<Eigen::Lower>()).cast<double>();
  total.bx += bx_.cast<double>();
  total.b += rest_.b;
  total.x += rest_.x;
  total.squares += rest_.squares;
  total.samples += rest_.samples;
}

Decoder fit_decoder(const DecoderSums& sums, double lambda1) {
  // With c = mean(x) - W mean(b), what remains is W (cov(b) + lambda1 I) = cov(x, b).
  const double m = sums.samples;
  const VectorXd mean_b = sums.b / m;
  const VectorXd mean_x = sums.x / m;
  MatrixXd covariance = sums.bb / m - mean_b * mean_b.transpose();
  // Bits that are constant or equal would leave it singular without a weight decay.
  covariance.diagonal().array() += std::max(lambda1, 1e-6);
  const MatrixXd cross = sums.bx / m - mean_b * mean_x.transpose();
  const MatrixXd w = covariance.ldlt().solve(cross).transpose();
  Decoder decoder;
  decoder.w = w.cast<float>();
  decoder.c = (mean_x - decoder.w.cast<double>() * mean_b).cast<float>();
  return decoder;
}

Decoder fit_decoder(const Encoder& encoder, const Vectors& x, double lambda1, Threads& threads) {
  const std::size_t tile = samples_per_tile(x.dimension());
  struct Worker {
    DecoderPartialSums sums;
    std::vector<float> floats;
    std::vector<float> b;
    Encoder::Scratch scratch;
  };
  std::vector<Worker> workers;
  for (int i = 0; i < threads.count(); ++i) {
    workers.push_back({DecoderPartialSums(encoder.bits(), x.dimension()), {}, {}, {}});
  }
  DecoderSums total(encoder.bits(), x.dimension());
  threads.in_order(
      blocks_of(x.size()),
      [&](std::size_t block, int worker) {
        Worker& own = workers[static_cast<std::size_t>(worker)];
        own.floats.resize(tile * x.dimension());
        own.sums.clear();
        const Range range = block_range(block, x.size());
        for (std::size_t i = range.first; i < range.first + range.count; i += tile) {
          const std::size_t n = std::min(tile, range.first + range.count - i);
          const float* samples = x.floats(i, n, own.floats.data());
          const float* h = encoder.outputs(samples, n, own.scratch);
          own.b.resize(n * encoder.bits());
          for (std::size_t k = 0; k < own.b.size(); ++k) own.b[k] = h[k] >= 0 ? 1.0F : -1.0F;
          own.sums.add(samples, own.b.data(), n);
        }
      },
      [&](std::size_t, int worker) { workers[static_cast<std::size_t>(worker)].sums.add_to(total); });
  return fit_decoder(total, lambda1);
}

Layer decoder_layer(const Decoder& decoder, const Scaling& scaling) {
  Layer layer;
  layer.outputs = static_cast<std::size_t>(decoder.w.rows());
  layer.inputs = static_cast<std::size_t>(decoder.w.cols());
  layer.weight.resize(layer.inputs * layer.outputs);
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<RowMajor>(layer.weight.data(), decoder.w.rows(), decoder.w.cols()) =
      (decoder.w.cast<double>() / scaling.factor).cast<float>();
  const VectorXf bias = (decoder.c.cast<double>() / scaling.factor + scaling.offset).cast<float>();
  layer.bias.assign(bias.begin(), bias.end());
  return layer;
}

double reconstruction_error(const DecoderSums& sums, const Decoder& decoder) {
  const MatrixXd w = decoder.w.cast<double>();
  const VectorXd c = decoder.c.cast<double>();
  // ||X||^2 - 2 <X, WB + c1> + ||WB + c1||^2
  const double cross = (sums.bx.transpose().cwiseProduct(w)).sum() + sums.x.dot(c);
  const double rebuilt =
      (w.transpose() * w).cwiseProduct(sums.bb).sum() + 2 * c.dot(w * sums.b) + sums.samples * c.squaredNorm();
  return (sums.squares - 2 * cross + rebuilt) / (2 * sums.samples);
}

}  // namespace bdnn
