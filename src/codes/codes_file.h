// Codes to and from files, a block at a time.
#pragma once

#include <memory>
#include <string>

#include "bdnn/codes.h"

namespace bdnn {

// Writes codes block by block; the file appears under its name with finish().
class CodesWriter {
 public:
  virtual ~CodesWriter() = default;
  virtual void write(std::size_t count, const std::uint8_t* codes) = 0;
  virtual void finish() = 0;
};

// The format follows from the file name: .codes, .npy or .bvecs. `count` codes will follow.
std::unique_ptr<CodesWriter> create_codes(const std::string& path, std::size_t bits, std::size_t count,
                                          const CodesOrigin& origin);

// The verified content of the header of a .codes file.
struct CodesHeader {
  std::size_t bits = 0;
  std::size_t count = 0;
  std::uint64_t payload_offset = 0;
  std::uint64_t payload_checksum = 0;
  CodesOrigin origin;
};
bool is_codes_file(const std::string& path);
CodesHeader read_codes_header(const std::string& path);

}  // namespace bdnn
