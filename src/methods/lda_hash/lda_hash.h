// LDAHash (Strecha, Bronstein, Bronstein and Fua, PAMI 2012).
//
// Pairs of the same class should get equal bits, pairs of different classes should not. With the covariances of their
// differences, Sigma_P = E[(x - y)(x - y)^T | same] and Sigma_N = E[(x - y)(x - y)^T | different], each bit is
//
//     sgn(p^T x - t),    p one of the leading solutions of  Sigma_N p = theta (Sigma_P + r I) p    (lda)
//                        or of the lowest eigenvectors of   alpha Sigma_P - Sigma_N                (dif),
//
// and its threshold t minimises the rate of same pairs that it splits plus the rate of different pairs that it does
// not. Both covariances and both rates are over all pairs, in closed form. What remains is a network of one affine
// layer.
#pragma once

#include "methods/method.h"

namespace bdnn {

enum class PairProjection { lda, dif };
enum class MoreBits { rotations, eigenvectors };

struct LdaHashOptions {
  PairProjection projection = PairProjection::lda;
  double alpha = 1;                     // for dif: weight of pairs of the same class
  double regularisation = 1e-2;         // for lda: r, as a share of the mean variance of a dimension
  MoreBits more = MoreBits::rotations;  // where bits beyond classes - 1 come from
};

Method lda_hash_method();

}  // namespace bdnn
