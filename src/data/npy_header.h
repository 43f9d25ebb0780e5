#pragma once

#include <string>

#include "bdnn/vectors.h"

namespace bdnn {

// The header of a C-order .npy file of shape (count, dimension). Its length is a multiple of 64.
std::string npy_header(const Shape& shape);

}  // namespace bdnn
