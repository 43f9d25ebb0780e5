#include "data/summary.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "data/element.h"
#include "data/format.h"

namespace bdnn {

VectorsSummary summarize_vectors(const VectorsFile& file) {
  VectorsSummary summary;
  summary.format = format_of(open_source(file)).name;
  const auto reader = open_vectors(file);
  const Shape shape = reader->shape();
  summary.shape = shape;
  const std::size_t block = std::max<std::size_t>(1, (std::size_t{4} << 20) / shape.bytes_per_vector());
  std::vector<std::byte> raw(std::min(block, shape.count) * shape.bytes_per_vector());
  std::vector<double> values(std::min(block, shape.count) * shape.dimension);
  std::vector<double> first;
  std::vector<bool> varies(shape.dimension);
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  double sum = 0;
  double norms = 0;
  for (std::size_t i = 0; i < shape.count; i += block) {
    const std::size_t n = std::min(block, shape.count - i);
    reader->read(n, raw.data());
    visit_element(shape.element, [&](auto type) {
      using T = typename decltype(type)::type;
      for (std::size_t k = 0; k < n * shape.dimension; ++k) {
        T value;
        std::memcpy(&value, raw.data() + k * sizeof(T), sizeof(T));
        values[k] = static_cast<double>(value);
      }
    });
    if (i == 0) first.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(shape.dimension));
    for (std::size_t r = 0; r < n; ++r) {
      const double* vector = values.data() + r * shape.dimension;
      double square = 0;
      for (std::size_t c = 0; c < shape.dimension; ++c) {
        const double value = vector[c];
        if (value != first[c]) varies[c] = true;
        if (!std::isfinite(value)) {
          if (summary.not_finite++ == 0) {
            summary.first_not_finite_row = i + r;
            summary.first_not_finite_column = c;
          }
          continue;
        }
        least = std::min(least, value);
        most = std::max(most, value);
        sum += value;
        square += value * value;
      }
      norms += std::sqrt(square);
    }
  }
  const std::size_t finite = shape.count * shape.dimension - summary.not_finite;
  if (finite > 0) {
    summary.least = least;
    summary.most = most;
    summary.mean = sum / static_cast<double>(finite);
  }
  if (shape.count > 0) summary.mean_norm = norms / static_cast<double>(shape.count);
  summary.constant_dimensions = static_cast<std::size_t>(std::count(varies.begin(), varies.end(), false));
  return summary;
}

}  // namespace bdnn
