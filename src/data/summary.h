// A summary of a file of vectors, computed in one pass.
#pragma once

#include <string>

#include "bdnn/vectors.h"

namespace bdnn {

struct VectorsSummary {
  std::string format;
  Shape shape;
  double least = 0;  // of the finite numbers
  double most = 0;
  double mean = 0;
  double mean_norm = 0;                  // the mean Euclidean length of a vector
  std::size_t not_finite = 0;            // NaN and infinities
  std::size_t first_not_finite_row = 0;  // the position of the first of them
  std::size_t first_not_finite_column = 0;
  std::size_t constant_dimensions = 0;  // dimensions in which all vectors agree
};

VectorsSummary summarize_vectors(const VectorsFile& file);

}  // namespace bdnn
