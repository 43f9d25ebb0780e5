#include "coding/group_columns.h"

#include <array>

namespace bdnn {

void add_bit_sums(const BitGroups& groups, const float* p, std::size_t count, float* q) {
  std::array<float, 256> sums;
  for (std::size_t i = 0; i < count; ++i, p += groups.bits(), q += groups.columns()) {
    for (std::size_t g = 0; g < groups.count(); ++g) {
      const std::size_t size = groups.values(g);
      std::fill_n(sums.begin(), size, 0.0F);
      for (std::size_t k = 0; std::size_t{1} << k < size; ++k) sums[std::size_t{1} << k] = p[g * groups.group() + k];
      sums_of_values(sums.data(), size);
      for (std::size_t v = 0; v < size; ++v) q[groups.first_column(g) + v] += sums[v];
    }
  }
}

MatrixXf columns_of_values(const MatrixXf& weight, const BitGroups& groups) {
  const auto dimension = static_cast<std::size_t>(weight.rows());
  MatrixXf columns(weight.rows(), groups.columns());
  for (std::size_t g = 0; g < groups.count(); ++g) {
    const std::size_t size = groups.values(g);
    float* first = columns.data() + groups.first_column(g) * dimension;
    std::fill_n(first, dimension, 0.0F);  // the product of no bits belongs to the bias
    std::copy_n(weight.data() + groups.first_feature(g) * dimension, (size - 1) * dimension, first + dimension);
    for (std::size_t d = 0; d < dimension; ++d) sums_of_values(first + d, size, dimension);
  }
  return columns;
}

}  // namespace bdnn
