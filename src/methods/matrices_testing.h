#pragma once

#include "base/random.h"
#include "bdnn/model.h"
#include "linalg/matrix.h"

namespace bdnn::testing {

// Of normal numbers.
inline MatrixXf random_matrix(Eigen::Index rows, Eigen::Index columns, Random& random) {
  MatrixXf matrix(rows, columns);
  for (float& value : matrix.reshaped()) value = static_cast<float>(random.normal());
  return matrix;
}

// The weights of a network's first layer, a row per output.
inline MatrixXd weight_of(const Model& model) {
  const auto& layer = std::get<Network>(model.function).layers.front();
  return Eigen::Map<const RowMajorXf>(layer.weight.data(), static_cast<Eigen::Index>(layer.outputs),
                                      static_cast<Eigen::Index>(layer.inputs))
      .cast<double>();
}

}  // namespace bdnn::testing
