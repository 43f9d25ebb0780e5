// Products and decompositions of small dense matrices, by Eigen and LAPACK.
#pragma once

#include <optional>
#include <string>

#include "linalg/matrix.h"

namespace bdnn {

// A B and W^T W. Compiled here once: each `*` between two matrices makes its file compile all of Eigen's product.
MatrixXd small_product(const MatrixXd& a, const MatrixXd& b);
MatrixXd small_gram(const MatrixXd& w);

// The k largest eigenvalues of a symmetric matrix, largest first, and their eigenvectors as columns. Only the lower
// triangle is read. The sign of an eigenvector is arbitrary; here its entry of largest magnitude is positive.
struct Eigenpairs {
  VectorXd values;
  MatrixXd vectors;
};
Eigenpairs top_eigenpairs(MatrixXd symmetric, std::size_t k);

// The same for A w = value B w, A symmetric and B positive definite: eigenvectors have w^T B w = 1 and are
// B-orthogonal. nullopt if B is not positive definite within rounding.
std::optional<Eigenpairs> top_eigenpairs(MatrixXd a, MatrixXd b, std::size_t k);

// The orthogonal matrix Q that maximises trace(Q^T C), which is the closest one to C: U V^T where C = U S V^T. C may
// have more rows than columns; the columns of Q are then orthonormal.
MatrixXd closest_rotation(MatrixXd c);

// As many orthonormal columns as A has, whose span contains A's columns; A has no more columns than rows.
MatrixXd orthonormal_basis(const MatrixXd& a);

// X of A X = B, A being symmetric and positive definite; only its lower triangle is read. nullopt if A is not positive
// definite within rounding.
std::optional<MatrixXd> solve_positive_definite(MatrixXd a, MatrixXd b);

// The same by LDL^T, for small matrices that may also be singular.
MatrixXd solve_symmetric(const MatrixXd& a, const MatrixXd& b);

// M, lower triangular, with M A M^T = I: the inverse of A's Cholesky factor, and M^T M that of A, which is symmetric
// and positive definite; only its lower triangle is read. nullopt if A is not positive definite within rounding.
std::optional<MatrixXd> inverse_cholesky_factor(MatrixXd a);

// The orthogonal factor of a Gaussian matrix: uniform over all rotations (and reflections).
class Random;
MatrixXd random_rotation(std::size_t size, Random& random);

// "OpenBLAS 0.3.21, kernel SkylakeX"
std::string lapack_name();

}  // namespace bdnn
