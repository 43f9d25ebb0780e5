// Spectral Hashing (Weiss, Torralba and Fergus, NIPS 2008).
//
// Treats the data as uniform in a box along its principal directions v_1, v_2, ... (at most L of them): [a_i, b_i] is
// the range of v_i^T x over all samples. There the eigenfunctions of the graph Laplacian are known; those that vary
// along one direction only are
//
//     Phi_ik(x) = sin(pi/2 + omega v_i^T x - omega a_i) = cos(omega (v_i^T x - a_i)),   omega = k pi / (b_i - a_i),
//
// for k = 1, 2, ..., and their eigenvalue grows with omega. The L smoothest become the bits: a wide direction gets
// several bits, a narrow one none. What remains is a network of one cosine layer. Nothing is random.
#pragma once

#include <cstddef>
#include <vector>

#include "linalg/matrix.h"
#include "methods/method.h"

namespace bdnn {

// An eigenfunction of the box: k half periods of a cosine along one direction.
struct SpectralMode {
  std::size_t direction;
  std::size_t k;

  bool operator==(const SpectralMode&) const = default;
};

// The `count` modes with the smallest eigenvalues for a box of these widths, smallest first; ties go to the
// earlier direction. The constant mode, k = 0, is left out.
std::vector<SpectralMode> smoothest_modes(const VectorXd& widths, std::size_t count);

Method sh_method();

}  // namespace bdnn
