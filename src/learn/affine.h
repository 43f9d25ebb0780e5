// Affine hash functions, h = R V^T (x - mean), and the principal directions that most of them start from.
#pragma once

#include "base/blocks.h"
#include "bdnn/model.h"
#include "bdnn/progress.h"
#include "bdnn/vectors.h"
#include "linalg/matrix.h"

namespace bdnn {

// The network of one layer that computes W (x - centre).
Network affine_network(const MatrixXd& weight, const VectorXd& centre);

// The outputs of the network before the sign, for all vectors: bits x m floats.
MatrixXf outputs_of(const Network& network, const Vectors& x, Threads& threads);

// Mean and covariance of the data, with which most methods start; only the covariance's lower triangle is set.
struct Moments {
  VectorXd mean;
  MatrixXd covariance;
};
// Raises Error if numbers are not finite, too large, or all the same.
Moments moments_of(const Vectors& x, Threads& threads, Progress& progress);

struct PrincipalDirections {
  VectorXd mean;
  MatrixXd directions;  // L x D: the L leading eigenvectors of the covariance, as rows
  VectorXd variances;   // their eigenvalues
};

// Raises Error if the data does not vary in L directions: fewer vectors or dimensions than bits, constant data.
PrincipalDirections principal_directions(const Vectors& x, std::size_t bits, Threads& threads, Progress& progress);
// The same with known moments of x, once check_directions() has passed.
PrincipalDirections principal_directions(const Vectors& x, const Moments& moments, std::size_t bits, Threads& threads);
void check_directions(const Vectors& x, std::size_t bits);
// The leading eigenvectors of the covariance, as rows: at most `most`, and none in which the data does not vary.
MatrixXd varying_directions(const Vectors& x, const Moments& moments, std::size_t most, Threads& threads);

}  // namespace bdnn
