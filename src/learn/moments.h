// Mean and covariance of vectors, summed block by block.
#pragma once

#include "base/blocks.h"
#include "bdnn/vectors.h"
#include "linalg/matrix.h"

namespace bdnn {

// The mean of all vectors. The first number that is not finite raises Error with its row and column.
VectorXd mean_of(const Vectors& x, Threads& threads);

// The covariance (1/m) sum (x - mean)(x - mean)^T; only its lower triangle is set.
// Products are in float within a block, sums over blocks in double; the data is centred first, so nothing cancels.
MatrixXd covariance_of(const Vectors& x, const VectorXd& mean, Threads& threads);

}  // namespace bdnn
