// The rotation that brings points closest to the corners of the cube (Gong and Lazebnik, CVPR 2011):
//
//     min over B, R of  || B - R V ||^2,   B in {-1,+1}^(L x m),  R orthogonal
//
// by alternating B = sgn(R V) and R = the rotation closest to B V^T. ITQ is this after PCA; networks start from it.
#pragma once

#include <cstdint>

#include "base/threads.h"
#include "bdnn/progress.h"
#include "linalg/matrix.h"

namespace bdnn {

// R for the projected data v (L x m), starting from the random rotation of this seed.
MatrixXd itq_rotation(const MatrixXf& v, int rotations, std::uint64_t seed, Threads& threads, Progress& progress);

// The same for more bits than v has rows: R is L x r, with orthonormal columns. These are the first r
// columns of the rotation of v with rows of zeros appended.
MatrixXd itq_rotation(const MatrixXf& v, std::size_t bits, int rotations, std::uint64_t seed, Threads& threads,
                      Progress& progress);

}  // namespace bdnn
