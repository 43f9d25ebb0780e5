#include "data/mapped_vectors.h"

#include "base/error.h"
#include "base/files.h"
#include "base/mapped_file.h"
#include "data/format.h"

namespace bdnn {

MappedVectors::MappedVectors(const std::string& path) : path_(path) {
  const Source source = open_source(path);
  const auto reader = open_vectors(path);
  const auto placement = reader->placement();
  if (!placement || source.gzip) {
    misuse("{}: does not allow random access; convert it to .fvecs, .bvecs or .npy, which do", path);
  }
  shape_ = reader->shape();
  stride_ = placement->stride;
  const InputFile file(source.path);
  const std::size_t bytes = file.size();
  memory_ = map_file(file, bytes);
  if (shape_.count > 0 && placement->offset + (shape_.count - 1) * stride_ + shape_.bytes_per_vector() > bytes) {
    failure("{}: became shorter while it was opened", path);
  }
  first_ = static_cast<const std::byte*>(memory_.get()) + placement->offset;
}

MappedVectors::MappedVectors(const Vectors& vectors, std::string name)
    : path_(std::move(name)),
      shape_(vectors.shape()),
      memory_(std::make_shared<const Vectors>(vectors)),
      first_(vectors.data()),
      stride_(vectors.shape().bytes_per_vector()) {}

}  // namespace bdnn
