// Mean and covariance of vectors, summed block by block.
#pragma once

#include "base/blocks.h"
#include "bdnn/vectors.h"
#include "linalg/matrix.h"

namespace bdnn {

// The mean of all vectors. The first number that is not finite raises Error with its row and column.
VectorXd mean_of(const Vectors& x, Threads& threads);

// The covariance (1/m) sum (x - mean)(x - mean)^T; only its lower triangle is set.
// The data is centred first, so nothing cancels, and sums over blocks are in double. Products in float are twice as
// fast and leave errors of some 1e-7 of the largest variance; variances near that need products in double.
enum class Precision { float_products, double_products };
MatrixXd covariance_of(const Vectors& x, const VectorXd& mean, Threads& threads,
                       Precision precision = Precision::float_products);

}  // namespace bdnn
