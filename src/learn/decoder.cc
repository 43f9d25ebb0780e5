#include "learn/decoder.h"

#include <Eigen/Cholesky>
#include <algorithm>

#include "linalg/decompose.h"
#include "linalg/product.h"

namespace bdnn {
namespace {
constexpr Eigen::Index kLarge = 400;  // columns, from where on Eigen takes most of the time of a round

// W^T W
MatrixXd gram_of(const MatrixXd& w) {
  if (w.cols() < kLarge) return w.transpose() * w;
  const MatrixXd rows = w.transpose();
  const auto size = static_cast<std::size_t>(w.cols());
  MatrixXd gram = MatrixXd::Zero(w.cols(), w.cols());
  add_gram_lower(rows.data(), size, size, static_cast<std::size_t>(w.rows()), gram.data(), size);
  return gram.selfadjointView<Eigen::Lower>();
}
}  // namespace

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

GroupSums::GroupSums(const CodeGroups& of, std::size_t dimension) : groups(of) {
  const auto e = static_cast<Eigen::Index>(groups.columns());
  const auto d = static_cast<Eigen::Index>(dimension);
  together = MatrixXd::Zero(e, e);
  xb = MatrixXd::Zero(d, e);
  x = VectorXd::Zero(d);
}

GroupPartialSums::GroupPartialSums(const CodeGroups& groups, std::size_t dimension) : groups_(groups) {
  const auto e = static_cast<Eigen::Index>(groups.columns());
  const auto d = static_cast<Eigen::Index>(dimension);
  together_ = MatrixXf::Zero(e, e);
  xb_ = MatrixXf::Zero(d, e);
  x_ = VectorXd::Zero(d);
}

void GroupPartialSums::clear() {
  together_.setZero();
  xb_.setZero();
  x_.setZero();
  squares_ = 0;
  samples_ = 0;
}

void GroupPartialSums::add(const float* x, const std::uint8_t* codes, std::size_t count) {
  std::vector<Eigen::Index> chosen(groups_.count());
  for (std::size_t i = 0; i < count; ++i, codes += (groups_.bits() + 7) / 8) {
    const Eigen::Map<const VectorXf> sample(x + i * static_cast<std::size_t>(x_.size()), x_.size());
    for (std::size_t g = 0; g < chosen.size(); ++g) {
      chosen[g] = static_cast<Eigen::Index>(groups_.first_column(g) + groups_.value(codes, g));
      xb_.col(chosen[g]) += sample;
      for (std::size_t h = 0; h <= g; ++h) ++together_(chosen[g], chosen[h]);
    }
    x_ += sample.cast<double>();
    squares_ += sample.cast<double>().squaredNorm();
  }
  samples_ += static_cast<double>(count);
}

void GroupPartialSums::add_to(GroupSums& total) const {
  total.together += together_.cast<double>();
  total.xb += xb_.cast<double>();
  total.x += x_;
  total.squares += squares_;
  total.samples += samples_;
}

DecoderSums GroupSums::of_features() const {
  const auto dimension = static_cast<std::size_t>(x.size());
  DecoderSums sums(groups.features(), dimension);
  sums.x = x;
  sums.squares = squares;
  sums.samples = samples;
  // Products of bits are sums over the values that have them, along the rows and then along the columns.
  const auto fold = [&](const MatrixXd& of_values) {
    MatrixXd folded = of_values.transpose();
    MatrixXd features(folded.cols(), groups.features());
    for (std::size_t g = 0; g < groups.count(); ++g) {
      const std::size_t size = groups.values(g);
      for (Eigen::Index i = 0; i < folded.cols(); ++i) {
        double* values = folded.data() + static_cast<std::size_t>(i * folded.rows()) + groups.first_column(g);
        sums_of_subsets(values, size);
        for (std::size_t s = 1; s < size; ++s) {
          features(i, static_cast<Eigen::Index>(groups.first_feature(g) + s - 1)) = values[s];
        }
      }
    }
    return features;
  };
  const MatrixXd whole = together.selfadjointView<Eigen::Lower>();
  sums.bx = fold(xb).transpose();
  sums.bb = fold(MatrixXd(fold(whole).transpose()));
  sums.b = fold(MatrixXd(whole.diagonal().transpose())).transpose();
  return sums;
}

Regression fit_decoder(const DecoderSums& sums, double lambda1) {
  // With c = mean(x) - W mean(b), what remains is W (cov(b) + lambda1 I) = cov(x, b).
  const double m = sums.samples;
  const VectorXd mean_b = sums.b / m;
  const VectorXd mean_x = sums.x / m;
  MatrixXd covariance = sums.bb / m - mean_b * mean_b.transpose();
  // Bits that are constant or equal would leave it singular without a weight decay.
  covariance.diagonal().array() += std::max(lambda1, 1e-6);
  const MatrixXd cross = sums.bx / m - mean_b * mean_x.transpose();
  std::optional<MatrixXd> solved;
  if (covariance.rows() >= kLarge) solved = solve_positive_definite(covariance, cross);
  if (!solved) solved = covariance.ldlt().solve(cross);
  const MatrixXd w = solved->transpose();
  Regression decoder;
  decoder.w = w.cast<float>();
  decoder.c = (mean_x - decoder.w.cast<double>() * mean_b).cast<float>();
  return decoder;
}

Regression fit_decoder(const Encoder& encoder, const Vectors& x, double lambda1, Threads& threads) {
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

Decoder decoder_layer(const Regression& regression, const Scaling& scaling, std::size_t group) {
  Decoder layer;
  layer.group = group;
  layer.outputs = static_cast<std::size_t>(regression.w.rows());
  layer.inputs = static_cast<std::size_t>(regression.w.cols());
  layer.weight.resize(layer.inputs * layer.outputs);
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<RowMajor>(layer.weight.data(), regression.w.rows(), regression.w.cols()) =
      (regression.w.cast<double>() / scaling.factor).cast<float>();
  const VectorXf bias = (regression.c.cast<double>() / scaling.factor + scaling.offset).cast<float>();
  layer.bias.assign(bias.begin(), bias.end());
  return layer;
}

double reconstruction_error(const DecoderSums& sums, const Regression& decoder) {
  const MatrixXd w = decoder.w.cast<double>();
  const VectorXd c = decoder.c.cast<double>();
  // ||X||^2 - 2 <X, WB + c1> + ||WB + c1||^2
  const double cross = (sums.bx.transpose().cwiseProduct(w)).sum() + sums.x.dot(c);
  const double rebuilt =
      gram_of(w).cwiseProduct(sums.bb).sum() + 2 * c.dot(w * sums.b) + sums.samples * c.squaredNorm();
  return (sums.squares - 2 * cross + rebuilt) / (2 * sums.samples);
}

}  // namespace bdnn
