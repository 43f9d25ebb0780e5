#include "data/mapped_vectors.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "data/format.h"

namespace bdnn {

MappedVectors::MappedVectors(const std::string& path) : path_(path) {
  const Source source = open_source(path);
  const auto reader = open_vectors(path);
  const auto placement = reader->placement();
  if (!placement || source.gzip) {
    misuse("{}: cannot be read out of order; convert it to .fvecs, .bvecs or .npy, which can", path);
  }
  shape_ = reader->shape();
  stride_ = placement->stride;
  const InputFile file(source.path);
  const std::size_t bytes = file.size();
  void* address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (address == MAP_FAILED) failure("{}: cannot map: {}", path, std::strerror(errno));
  memory_ = {address, [bytes](const void* p) { ::munmap(const_cast<void*>(p), bytes); }};
  if (shape_.count > 0 && placement->offset + (shape_.count - 1) * stride_ + shape_.bytes_per_vector() > bytes) {
    failure("{}: became shorter while it was opened", path);
  }
  first_ = static_cast<const std::byte*>(address) + placement->offset;
}

}  // namespace bdnn
