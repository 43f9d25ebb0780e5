#include "data/column_major.h"

#include <cstring>
#include <vector>

#include "base/error.h"

namespace bdnn {
namespace {

template <std::size_t size>
void transpose(std::size_t rows, std::size_t columns, const std::byte* in, std::byte* out) {
  constexpr std::size_t kTile = 32;  // a tile of both sides stays in the first-level cache
  for (std::size_t r0 = 0; r0 < rows; r0 += kTile) {
    const std::size_t r1 = std::min(rows, r0 + kTile);
    for (std::size_t c0 = 0; c0 < columns; c0 += kTile) {
      const std::size_t c1 = std::min(columns, c0 + kTile);
      for (std::size_t r = r0; r < r1; ++r) {
        for (std::size_t c = c0; c < c1; ++c) {
          std::memcpy(out + (c * rows + r) * size, in + (r * columns + c) * size, size);
        }
      }
    }
  }
}

}  // namespace

void transpose_elements(std::size_t size, std::size_t rows, std::size_t columns, const std::byte* in, std::byte* out) {
  switch (size) {
    case 1: return transpose<1>(rows, columns, in, out);
    case 2: return transpose<2>(rows, columns, in, out);
    case 4: return transpose<4>(rows, columns, in, out);
    case 8: return transpose<8>(rows, columns, in, out);
    default: failure("elements of {} bytes cannot be transposed", size);
  }
}

void read_column_major(const Shape& shape, std::size_t first, std::size_t count, const ReadAt& read, std::byte* out) {
  const std::size_t size = size_of(shape.element);
  std::vector<std::byte> columns(count * shape.bytes_per_vector());
  for (std::size_t d = 0; d < shape.dimension; ++d) {
    read((d * shape.count + first) * size, std::span(columns).subspan(d * count * size, count * size));
  }
  transpose_elements(size, shape.dimension, count, columns.data(), out);
}

void write_column_major(const Shape& shape, std::size_t first, std::size_t count, const std::byte* vectors,
                        const WriteAt& write) {
  const std::size_t size = size_of(shape.element);
  std::vector<std::byte> columns(count * shape.bytes_per_vector());
  transpose_elements(size, count, shape.dimension, vectors, columns.data());
  for (std::size_t d = 0; d < shape.dimension; ++d) {
    write((d * shape.count + first) * size,
          std::span<const std::byte>(columns).subspan(d * count * size, count * size));
  }
}

}  // namespace bdnn
