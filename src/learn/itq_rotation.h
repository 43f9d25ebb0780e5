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

// R for the projected data v (L x m), from the random rotation of that seed on.
MatrixXd itq_rotation(const MatrixXf& v, int rotations, std::uint64_t seed, Threads& threads, Progress& progress);

// The same for more bits than v has rows: R is L x r, with orthonormal columns. It is what the rotation of v with rows
// of zeros below it has in its first r columns.
MatrixXd itq_rotation(const MatrixXf& v, std::size_t bits, int rotations, std::uint64_t seed, Threads& threads,
                      Progress& progress);

}  // namespace bdnn
