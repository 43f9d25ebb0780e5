// The uses of OpenCV: decoding of image files, and networks. A build without OpenCV raises Error.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "features/opencv_module.h"

namespace bdnn {

// PNG, JPEG and other formats that OpenCV decodes; 8 bits, grey or colour. Messages call the file `name`.
Image decode_with_opencv(std::span<const std::byte> file, const std::string& name);

// A network ready to run; each thread has its own.
std::unique_ptr<NetworkRunner> load_network(const CnnOptions& options);

}  // namespace bdnn
