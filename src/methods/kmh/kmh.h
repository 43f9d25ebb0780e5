// K-means Hashing (He, Wen and Sun, CVPR 2013).
//
// Quantizes by k-means with 2^b codewords in each subspace of b bits; the index of a codeword is its code. Besides the
// quantization error, it lowers the difference between the codewords' Euclidean distances and the distances that
// represent the Hamming distances h of their indices:
//
//     min over c, i of  1/n sum over x of ||x - c_i(x)||^2
//                       + lambda sum over i, j of n_i n_j / n^2 (||c_i - c_j|| - 2 s sqrt(h(i, j)))^2
//
// The subspaces are groups of principal directions whose variances have about the same product. Starts from the
// corners of a cube, which is PCA hashing, and alternates indices and codewords (codebook.h). What remains is a product
// quantizer.
#pragma once

#include "methods/method.h"

namespace bdnn {

struct KmhOptions {
  int block = 4;        // b, if it divides the number of bits; else the most bits of a subspace
  double lambda = 10;   // weight of the distances between codewords
  int iterations = 50;  // alternations of indices and codewords
};

// Groups of principal directions, one for each subspace, given the directions' variances in descending order: sizes[g]
// of them for group g, each direction to the group whose variances have the smallest product so far, in units of the
// least. Returns each group's directions in ascending order.
std::vector<std::vector<std::size_t>> balanced_groups(const std::vector<double>& variances,
                                                      const std::vector<std::size_t>& sizes);

Method kmh_method();

}  // namespace bdnn
