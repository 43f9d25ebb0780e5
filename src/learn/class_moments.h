// Means of classes, and covariances of pairs of samples, summed block by block.
#pragma once

#include "base/threads.h"
#include "bdnn/vectors.h"
#include "learn/class_labels.h"
#include "linalg/matrix.h"

namespace bdnn {

// Over labelled samples only.
struct ClassMeans {
  MatrixXd of_class;  // D x classes
  VectorXd of_all;
};
ClassMeans class_means(const Vectors& x, const ClassLabels& labels, Threads& threads);

// E[(x - y)(x - y)^T] over all pairs of different labelled samples x and y: those of the same class, and those of
// different ones. With n_c samples and scatter S_c = sum (x - mean_c)(x - mean_c)^T in class c, m and S in all,
//
//     same      = sum over c of 2 n_c S_c / sum over c of n_c (n_c - 1)
//     different = (2 m S - sum over c of 2 n_c S_c) / (m^2 - sum over c of n_c^2),
//
// so the cost is linear in the samples, not in the pairs. Only lower triangles are set.
// Raises Error if no two samples share a class.
struct PairCovariances {
  MatrixXd same;
  MatrixXd different;
};
PairCovariances pair_covariances(const Vectors& x, const ClassLabels& labels, const ClassMeans& means,
                                 Threads& threads);

}  // namespace bdnn
