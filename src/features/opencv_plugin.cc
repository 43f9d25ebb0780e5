// The module that is loaded when OpenCV is needed: the only file that includes OpenCV.
#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/dnn.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "base/error.h"
#include "features/opencv_module.h"

namespace bdnn {
namespace {

// Runs work; what OpenCV throws becomes an Error. OpenCV prints nothing, and starts no threads: results would depend on
// their number.
template <class Work>
auto with_opencv(const std::string& what, const Work& work) {
  static const bool quiet = [] {
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    cv::redirectError([](int, const char*, const char*, const char*, int, void*) { return 0; });
    cv::setNumThreads(1);
    return true;
  }();
  (void)quiet;
  try {
    return work();
  } catch (const cv::Exception& error) {
    std::string text = error.err;
    std::replace(text.begin(), text.end(), '\n', ' ');
    failure("{}: OpenCV {} says: {}", what, CV_VERSION, text);
  }
}

Image decode(std::span<const std::byte> file, const std::string& name) {
  return with_opencv(name, [&] {
    const cv::Mat bytes(1, static_cast<int>(file.size()), CV_8U,
                        const_cast<std::byte*>(file.data()));  // is only read
    const cv::Mat pixels = cv::imdecode(bytes, cv::IMREAD_ANYCOLOR | cv::IMREAD_IGNORE_ORIENTATION);
    if (pixels.empty()) failure("{}: is damaged, or not an image that OpenCV can decode", name);
    if (pixels.total() > kMostPixels) {
      failure("{}: has {} x {} pixels; 1 to {} are supported", name, pixels.cols, pixels.rows, kMostPixels);
    }
    Image image{static_cast<std::size_t>(pixels.cols),
                static_cast<std::size_t>(pixels.rows),
                static_cast<std::size_t>(pixels.channels()),
                {}};
    image.planes.reserve(pixels.total() * image.channels);
    for (int c = 0; c < pixels.channels(); ++c) {
      const int channel = pixels.channels() == 3 ? 2 - c : c;  // OpenCV's order is blue, green, red
      for (int y = 0; y < pixels.rows; ++y) {
        const auto* row = pixels.ptr<std::uint8_t>(y);
        for (int x = 0; x < pixels.cols; ++x) {
          image.planes.push_back(static_cast<float>(row[x * pixels.channels() + channel]));
        }
      }
    }
    return image;
  });
}

// OpenCV puts this before the names of ONNX nodes.
const std::string kPrefix = "onnx_node!";

// The layer's name in OpenCV, given as there or as in the ONNX file; "" is the last.
std::string layer_named(const std::string& wanted, const std::vector<std::string>& names, const std::string& network) {
  if (wanted.empty()) return wanted;
  for (const std::string& name : {wanted, kPrefix + wanted}) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  }
  std::string last;
  for (std::size_t i = names.size() - std::min<std::size_t>(names.size(), 8); i < names.size(); ++i) {
    const std::string& name = names[i];
    last += (last.empty() ? "" : ", ") + (name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name);
  }
  misuse("{}: has no layer '{}'; its last layers are {}", network, wanted, last);
}

class OpenCvNetwork final : public NetworkRunner {
 public:
  explicit OpenCvNetwork(const CnnOptions& options);
  void describe(const Image& image, float* features) override;

 private:
  // The layer's output for a tensor of 1 x 3 x size x size.
  cv::Mat run(const cv::Mat& blob) {
    network_.setInput(blob);
    return options_.layer.empty() ? network_.forward() : network_.forward(options_.layer);
  }

  CnnOptions options_;
  cv::dnn::Net network_;
};

OpenCvNetwork::OpenCvNetwork(const CnnOptions& options) : options_(options) {
  if (options.size < 1 || options.size > 4096) misuse("images of {0} x {0} pixels are not possible", options.size);
  if (options.mean.size() != 3)
    misuse("the mean has {} numbers; give one for each of the 3 channels", options.mean.size());
  with_opencv(options.network, [&] {
    network_ = cv::dnn::readNet(options.network, options.config);
    network_.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
    network_.setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
    const auto names = network_.getLayerNames();
    if (names.empty()) failure("{}: holds no network", options.network);
    options_.layer = layer_named(options.layer, names, options.network);
    const int side = static_cast<int>(options.size);
    const int sizes[] = {1, 3, side, side};
    const cv::Mat output = run(cv::Mat(4, sizes, CV_32F, cv::Scalar(0)));
    dimension_ = output.total();
    if (dimension_ == 0) failure("{}: the layer has no outputs", options.network);
  });
}

void OpenCvNetwork::describe(const Image& image, float* features) {
  with_opencv(options_.network, [&] {
    const int side = static_cast<int>(options_.size);
    const int sizes[] = {1, 3, side, side};
    cv::Mat blob(4, sizes, CV_32F);
    const std::size_t pixels = image.width * image.height;
    for (int c = 0; c < 3; ++c) {
      const std::size_t channel = image.channels == 1 ? 0 : static_cast<std::size_t>(options_.bgr ? 2 - c : c);
      const cv::Mat plane(static_cast<int>(image.height), static_cast<int>(image.width), CV_32F,
                          const_cast<float*>(image.planes.data() + channel * pixels));  // is only read
      // As bytes, like most programs.
      cv::Mat bytes;
      cv::Mat scaled;
      plane.convertTo(bytes, CV_8U);
      cv::resize(bytes, scaled, {side, side}, 0, 0, options_.cubic ? cv::INTER_CUBIC : cv::INTER_LINEAR);
      cv::Mat input(side, side, CV_32F, blob.ptr<float>(0, c));
      scaled.convertTo(input, CV_32F, options_.scale, -options_.mean[static_cast<std::size_t>(c)] * options_.scale);
    }
    const cv::Mat output = run(blob);
    if (output.total() != dimension_ || output.type() != CV_32F || !output.isContinuous()) {
      failure("{}: the layer's outputs change their shape", options_.network);
    }
    const auto* values = output.ptr<float>();
    if (std::any_of(values, values + dimension_, [](float value) { return !std::isfinite(value); })) {
      failure("{}: gives features that are not finite", options_.network);
    }
    std::copy_n(values, dimension_, features);
  });
}

std::unique_ptr<NetworkRunner> load(const CnnOptions& options) { return std::make_unique<OpenCvNetwork>(options); }

}  // namespace
}  // namespace bdnn

extern "C" const bdnn::OpenCvModule* bdnn_opencv_module() {
  static const bdnn::OpenCvModule module{bdnn::kOpenCvModuleVersion, bdnn::decode, bdnn::load};
  return &module;
}
