// The codewords of one subspace and K-means Hashing's objective there: E = E_quan + lambda E_aff, where
//
//     E_quan = 1/n sum over x of ||x - c_i(x)||^2,
//     E_aff  = sum over i, j of n_i n_j / n^2 (||c_i - c_j|| - d_h(i, j))^2,   d_h(i, j) = 2 s sqrt(h(i, j)),
//
// i(x) is the index of x's codeword, n_i of the n samples have the index i, h counts the bits in which indices differ.
#pragma once

#include <cstddef>

#include "linalg/matrix.h"

namespace bdnn {

struct Codebook {
  MatrixXd codewords;  // d x 2^b; column i has the index i
  double scale = 0;    // s: half the edge of the cube whose corners have Euclidean distances d_h
};

// The corners of the cube [-s, s]^b in the first b coordinates: coordinate k is s where bit k is set. E_aff is 0.
Codebook cube_codebook(std::size_t dimension, std::size_t bits, double scale);

// All that E depends on, given the codewords of the samples.
struct CellSums {
  VectorXd counts;  // n_i
  MatrixXd sums;    // d x 2^b: the sum of the samples of each codeword
};

// E_quan without the mean of ||x||^2, which does not depend on the codewords; and E_aff.
double quantization_error(const Codebook& book, const CellSums& cells);
double affinity_error(const Codebook& book, const CellSums& cells);

// The terms of E in codeword j if it stood at c, d numbers, and their gradient; other codewords stay. Its error of
// quantization is that about the mean of its samples, so the value is never negative.
double codeword_error(const Codebook& book, const CellSums& cells, double lambda, Eigen::Index j, const double* c,
                      double* gradient);

// Moves the codewords, one after the other, each to a minimum of E by L-BFGS; E does not rise. A codeword without
// samples has no term in E and stays.
void update_codewords(Codebook& book, const CellSums& cells, double lambda);

}  // namespace bdnn
