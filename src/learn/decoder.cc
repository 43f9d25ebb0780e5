#include "learn/decoder.h"

#include "coding/group_columns.h"

namespace bdnn {
GroupSums::GroupSums(const BitGroups& of, std::size_t dimension) : groups(of) {
  const auto e = static_cast<Eigen::Index>(groups.columns());
  const auto d = static_cast<Eigen::Index>(dimension);
  together = MatrixXd::Zero(e, e);
  xb = MatrixXd::Zero(d, e);
  x = VectorXd::Zero(d);
}

GroupPartialSums::GroupPartialSums(const BitGroups& groups, std::size_t dimension) : groups_(groups) {
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
  for (std::size_t i = 0; i < count; ++i, codes += bytes_for_bits(groups_.bits())) {
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

void GroupPartialSums::assign_to(GroupSums& sum) const {
  sum.together.resize(0, 0);
  sum.xb = xb_.cast<double>();
  sum.x = x_;
  sum.squares = squares_;
  sum.samples = samples_;
}

void GroupPartialSums::add_counts_to(GroupSums& total) const { total.together += together_.cast<double>(); }

GroupSums& GroupSums::operator+=(const GroupSums& other) {
  xb += other.xb;
  x += other.x;
  squares += other.squares;
  samples += other.samples;
  return *this;
}

RidgeSums GroupSums::of_features() const {
  const auto dimension = static_cast<std::size_t>(x.size());
  RidgeSums sums(groups.features(), dimension);
  sums.x = x;
  sums.squares = squares;
  sums.samples = samples;
  // Products of bits are sums over the values that contain them, along the rows and then along the columns.
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

RidgeRegression fit_decoder(const HashEncoder& encoder, const Vectors& x, double lambda1, Threads& threads) {
  const std::size_t tile = samples_per_tile(x.dimension());
  RidgeSums total(encoder.bits(), x.dimension());
  const RidgePartialSums zero(encoder.bits(), x.dimension());
  sum_over_samples(threads, x.size(), zero, total, [&](const Range& block, RidgePartialSums& sums) {
    std::vector<float> floats(tile * x.dimension());
    std::vector<std::uint8_t> codes(tile * encoder.bytes_per_code());
    std::vector<float> b(tile * encoder.bits());
    HashEncoder::Scratch scratch;
    for_each_tile(block, tile, [&](std::size_t first, std::size_t count) {
      const float* samples = x.floats(first, count, floats.data());
      encoder.encode(samples, count, scratch, codes.data());
      unpack_signs(codes.data(), encoder.bits(), count, b.data());
      sums.add(samples, b.data(), count);
    });
  });
  return fit_ridge(total, lambda1);
}

Decoder decoder_layer(const RidgeRegression& regression, const Scaling& scaling, std::size_t group) {
  Decoder layer;
  layer.group = group;
  layer.outputs = static_cast<std::size_t>(regression.w.rows());
  layer.inputs = static_cast<std::size_t>(regression.w.cols());
  layer.weight.resize(layer.inputs * layer.outputs);
  Eigen::Map<RowMajorXf>(layer.weight.data(), regression.w.rows(), regression.w.cols()) =
      (regression.w.cast<double>() / scaling.factor).cast<float>();
  const VectorXf bias = (regression.c.cast<double>() / scaling.factor + scaling.offset).cast<float>();
  layer.bias.assign(bias.begin(), bias.end());
  return layer;
}

}  // namespace bdnn
