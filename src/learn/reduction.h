// Reduction to principal components, by a protocol or a model with pca=N.
#pragma once

#include "base/threads.h"
#include "bdnn/model.h"
#include "bdnn/progress.h"
#include "bdnn/vectors.h"
#include "linalg/matrix.h"

namespace bdnn {

// y = V (x - mean); the rows of V are the leading eigenvectors of the covariance, so that x is close to V^T y + mean.
struct PrincipalComponents {
  Layer layer;  // V x - V mean, as floats
  VectorXd mean;
};

// Raises Error if x varies in fewer than `count` directions: too few dimensions or vectors, or linear dependence.
PrincipalComponents fit_components(const Vectors& x, std::size_t count, Threads& threads, Progress& progress);

// The components of all vectors, as floats: bit for bit the input of the hash function in a model with this reduction.
Vectors reduced(const Layer& reduction, const Vectors& x, Threads& threads);

// Turns a decoder that rebuilds components y into one that rebuilds V^T y + mean.
Decoder decoder_before(const PrincipalComponents& components, const Decoder& decoder);

}  // namespace bdnn
