// Isotropic Hashing (Kong and Li, NIPS 2012).
//
// Principal components differ in variance, so some bits taken from them carry more than others. IsoHash rotates the L
// leading ones so that all have the same variance:
//
//     find R orthogonal with  diag(R Lambda R^T) = a (1, ..., 1),   a = trace(Lambda) / L,
//
// where Lambda holds the variances along the principal directions. Many rotations do this; a random start picks one.
// What remains is a network of one affine layer.
#pragma once

#include <cstdint>

#include "linalg/matrix.h"
#include "methods/method.h"

namespace bdnn {

struct IsohashOptions {
  // lift: alternates between the matrices with eigenvalues Lambda and those with diagonal a, each time to the closest.
  // flow: descends the gradient of ||diag(R Lambda R^T) - a||^2 over the rotations R.
  enum class Solver { lift, flow };
  Solver solver = Solver::lift;
  int iterations = 100;  // at most; fewer if the variances are equal before
};

// The solver's R, starting from the random rotation of that seed. Variances are positive, largest first. Each iteration
// lowers ||diag(R Lambda R^T) - a||^2; the last may leave it above zero.
MatrixXd nearly_isotropic_rotation(const VectorXd& variances, const IsohashOptions& options, std::uint64_t seed,
                                   Progress& progress);

// Makes the variances equal, from any R, by at most L - 1 rotations of two components each.
void make_isotropic(const VectorXd& variances, MatrixXd& r);

Method isohash_method();

}  // namespace bdnn
