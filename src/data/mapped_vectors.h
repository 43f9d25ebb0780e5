// Vectors read in place, in their file or in memory, a few at a time and in any order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bdnn/vectors.h"

namespace bdnn {

class MappedVectors {
 public:
  // .fvecs, .ivecs, .bvecs and .npy in C order. Other formats raise Error, which lists these.
  explicit MappedVectors(const std::string& path);
  MappedVectors(const Vectors& vectors, std::string name);  // messages call them `name`

  const std::string& path() const { return path_; }  // or name
  const Shape& shape() const { return shape_; }
  const std::byte* operator[](std::size_t i) const { return first_ + i * stride_; }

 private:
  std::string path_;
  Shape shape_;
  std::shared_ptr<const void> memory_;
  const std::byte* first_ = nullptr;
  std::uint64_t stride_ = 0;
};

}  // namespace bdnn
