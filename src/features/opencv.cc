#include "features/opencv.h"

#include <dlfcn.h>

#include "base/error.h"

namespace bdnn {
namespace {

const OpenCvModule& opencv(const std::string& purpose) {
  if (!has_opencv()) {
    misuse("{}, and this bdnn was built without OpenCV; 'tools/setup features' installs it, then build again", purpose);
  }
  static const OpenCvModule* const module = [] {
    // Stays loaded; it is searched for in the program's RUNPATH, then in the system's paths.
    void* const library = ::dlopen(kOpenCvModuleFile, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) failure("OpenCV cannot be loaded: {}", ::dlerror());
    const auto entry = reinterpret_cast<decltype(&bdnn_opencv_module)>(::dlsym(library, kOpenCvModuleEntry));
    const OpenCvModule* const found = entry == nullptr ? nullptr : entry();
    if (found == nullptr || found->version != kOpenCvModuleVersion) {
      failure("{}: belongs to another version of bdnn", kOpenCvModuleFile);
    }
    return found;
  }();
  return *module;
}

}  // namespace

bool has_opencv() {
#ifdef BDNN_WITH_OPENCV
  return true;
#else
  return false;
#endif
}

Image decode_with_opencv(std::span<const std::byte> file, const std::string& name) {
  return opencv(name + ": is not a binary PGM or PPM image").decode(file, name);
}

std::unique_ptr<NetworkRunner> load_network(const CnnOptions& options) {
  return opencv("features of networks need OpenCV").load(options);
}

}  // namespace bdnn
