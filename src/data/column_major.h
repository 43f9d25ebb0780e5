// Tables stored column after column (MATLAB, Fortran-order NumPy): each column holds one element of all vectors.
// Read and written a block of vectors at a time, so that memory does not grow with the file.
#pragma once

#include <functional>
#include <span>

#include "data/format.h"

namespace bdnn {

// Fills the span from a position, in bytes from the start of the table.
using ReadAt = std::function<void(std::uint64_t offset, std::span<std::byte> out)>;
using WriteAt = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

// Vectors [first, first + count) of a table of shape.count rows and shape.dimension columns, to sample-major order.
void read_column_major(const Shape& shape, std::size_t first, std::size_t count, const ReadAt& read, std::byte* out);

void write_column_major(const Shape& shape, std::size_t first, std::size_t count, const std::byte* vectors,
                        const WriteAt& write);

// out (columns x rows) = transpose of in (rows x columns), both row-major, elements of `size` bytes.
void transpose_elements(std::size_t size, std::size_t rows, std::size_t columns, const std::byte* in, std::byte* out);

}  // namespace bdnn
