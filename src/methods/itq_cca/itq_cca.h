// ITQ after canonical correlation analysis (Gong and Lazebnik, CVPR 2011; Gong, Lazebnik, Gordo and Perronnin, PAMI
// 2013).
//
// CCA finds the directions in which the data and its one-hot labels correlate most:
//
//     C_xy C_yy^+ C_yx w = rho^2 (C_xx + r I) w,   w^T (C_xx + r I) w = 1
//
// For one-hot labels the left-hand matrix is the covariance of the class means, sum p_c (mean_c - mean)(...)^T. The
// centred data is projected on the leading directions, each scaled by its correlation rho, and rotated as by ITQ
// (learn/itq_rotation.h). Centred means: minus the mean of the class means, so that bits split classes rather than the
// samples of the largest one; with classes of equal size that is the mean of the data, which the authors take. There
// are at most classes - 1 directions; for more bits, R is a matrix of orthonormal columns rather than a rotation. What
// remains is a network of one affine layer.
#pragma once

#include "methods/method.h"

namespace bdnn {

enum class CcaCentre { classes, data };

struct ItqCcaOptions {
  CcaCentre centre = CcaCentre::classes;  // point mapped to zero: the mean of the class means, or of the data
  double regularisation = 1e-4;           // r, as a share of the mean variance of a dimension
  int rotations = 50;                     // alternations of codes and rotation
};

Method itq_cca_method();

}  // namespace bdnn
