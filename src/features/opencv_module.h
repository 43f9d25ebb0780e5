// The interface between bdnn and the module that uses OpenCV, which is loaded only when needed: OpenCV's libraries
// bring 140 others, which would cost a tenth of a second and 58 MB at every start of the program.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "bdnn/features.h"
#include "features/image.h"

namespace bdnn {

class NetworkRunner {
 public:
  virtual ~NetworkRunner() = default;
  std::size_t dimension() const { return dimension_; }
  virtual void describe(const Image& image, float* features) = 0;

 protected:
  std::size_t dimension_ = 0;
};

struct OpenCvModule {
  int version;  // of this struct
  Image (*decode)(std::span<const std::byte> file, const std::string& name);
  std::unique_ptr<NetworkRunner> (*load)(const CnnOptions& options);
};
inline constexpr int kOpenCvModuleVersion = 1;

// The exports of the module.
constexpr const char* kOpenCvModuleFile = "libbdnn_opencv.so";
constexpr const char* kOpenCvModuleEntry = "bdnn_opencv_module";

}  // namespace bdnn

extern "C" const bdnn::OpenCvModule* bdnn_opencv_module();
