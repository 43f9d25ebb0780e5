#include "learn/reduction.h"

#include "base/error.h"
#include "learn/affine.h"
#include "model/hash_function.h"

namespace bdnn {
namespace {

Eigen::Map<const RowMajorXf> weight_of(const Layer& layer) {
  return {layer.weight.data(), static_cast<Eigen::Index>(layer.outputs), static_cast<Eigen::Index>(layer.inputs)};
}

}  // namespace

PrincipalComponents fit_components(const Vectors& x, std::size_t count, Threads& threads, Progress& progress) {
  if (count > x.dimension()) {
    misuse("{} principal components are too many for vectors of dimension {}; ask for at most {}", count, x.dimension(),
           x.dimension());
  }
  if (x.size() <= count) {
    misuse("{} vectors have at most {} principal components, not {}; give more vectors or ask for fewer", x.size(),
           x.size() - 1, count);
  }
  const Moments moments = moments_of(x, threads, progress);
  const MatrixXd directions = varying_directions(x, moments, count, threads);
  if (directions.rows() < static_cast<Eigen::Index>(count)) {
    misuse("the vectors vary in only {} directions, too few for {} principal components; ask for at most {}",
           directions.rows(), count, directions.rows());
  }
  return {affine_network(directions, moments.mean).layers.front(), moments.mean};
}

Vectors reduced(const Layer& reduction, const Vectors& x, Threads& threads) {
  std::vector<float> values(reduction.outputs * x.size());
  outputs_of(HashEncoder(Network{{reduction}}), x, threads, values.data());
  return {reduction.outputs, x.size(), std::move(values)};
}

Decoder decoder_before(const PrincipalComponents& components, const Decoder& decoder) {
  const auto directions = weight_of(components.layer).cast<double>();
  const Eigen::Map<const VectorXf> bias(decoder.bias.data(), static_cast<Eigen::Index>(decoder.bias.size()));
  Decoder before = decoder;
  before.outputs = components.layer.inputs;
  before.weight.resize(before.inputs * before.outputs);
  Eigen::Map<RowMajorXf>(before.weight.data(), static_cast<Eigen::Index>(before.outputs),
                         static_cast<Eigen::Index>(before.inputs)) =
      (directions.transpose() * weight_of(decoder).cast<double>()).cast<float>();
  const VectorXf moved = (directions.transpose() * bias.cast<double>() + components.mean).cast<float>();
  before.bias.assign(moved.begin(), moved.end());
  return before;
}

}  // namespace bdnn
