#include "features/image_source.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "features/opencv.h"

namespace bdnn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBatchBytes = std::size_t{1} << 20;
constexpr std::size_t kFilesPerBatch = 8;
constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 30;
constexpr std::string_view kExtensions[] = {".pgm",  ".ppm", ".pnm", ".png",  ".jpg",
                                            ".jpeg", ".bmp", ".tif", ".tiff", ".webp"};

bool has_image_name(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(std::begin(kExtensions), std::end(kExtensions), extension) != std::end(kExtensions);
}

// The shape of an image of this many bytes: {28, 28} of an idx file, {3, 32, 32} of CIFAR-10.
Image layout_of(const std::vector<std::size_t>& sizes, const std::string& path) {
  Image layout;
  if (sizes.size() == 2) layout = {sizes[1], sizes[0], 1, {}};
  if (sizes.size() == 3) layout = {sizes[2], sizes[1], sizes[0], {}};
  if (layout.width == 0 || (layout.channels != 1 && layout.channels != 3)) {
    misuse("{}: holds no images; expected idx with rows and columns, CIFAR-10 batches, or image files", path);
  }
  return layout;
}

}  // namespace

ImageSource::ImageSource(const std::vector<std::string>& paths) {
  if (paths.empty()) misuse("no images were given");
  for (const std::string& path : paths) {
    if (fs::is_directory(path)) {
      std::vector<std::string> names;
      std::error_code error;
      for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
        if (at->is_regular_file() && has_image_name(at->path())) {
          names.push_back(at->path().lexically_relative(path).string());
        }
      }
      if (error) failure("{}: cannot be read: {}", path, error.message());
      if (names.empty()) failure("{}: holds no image files (.pgm, .ppm, .png, .jpg, ...)", path);
      std::sort(names.begin(), names.end());
      std::vector<std::string> files;
      for (const auto& name : names) files.push_back((fs::path(path) / name).string());
      add_image_files(path, std::move(files), std::move(names));
    } else if (has_image_name(path)) {
      add_image_files(path, {path}, {path});
    } else {
      add_file_of_images(path);
    }
  }
}

void ImageSource::add_file_of_images(const std::string& path) {
  Part part{path, open_vectors(path)};
  part.layout = layout_of(part.reader->sizes(), path);
  part.first = size_;
  const Shape& shape = part.reader->shape();
  if (shape.element != Element::u8) misuse("{}: holds {} numbers; images are bytes", path, name_of(shape.element));
  const std::size_t per_batch = std::max<std::size_t>(1, kBatchBytes / shape.dimension);
  for (std::size_t i = 0; i < shape.count; i += per_batch) {
    batches_.push_back({parts_.size(), size_ + i, std::min(per_batch, shape.count - i)});
  }
  size_ += shape.count;
  parts_.push_back(std::move(part));
}

void ImageSource::add_image_files(const std::string& path, std::vector<std::string> files,
                                  std::vector<std::string> names) {
  Part part{path, nullptr};
  part.first = size_;
  for (std::size_t i = 0; i < files.size(); i += kFilesPerBatch) {
    batches_.push_back({parts_.size(), size_ + i, std::min(kFilesPerBatch, files.size() - i)});
  }
  size_ += files.size();
  names_.insert(names_.end(), std::make_move_iterator(names.begin()), std::make_move_iterator(names.end()));
  part.files = std::move(files);
  parts_.push_back(std::move(part));
}

ImageSource::Extent ImageSource::extent() const {
  Extent all;
  for (const Part& part : parts_) {
    const Extent own{part.layout.width, part.layout.height};
    if (own.width == 0 || (all.width != 0 && (own.width != all.width || own.height != all.height))) return {};
    all = own;
  }
  return all;
}

void ImageSource::read(Batch& batch) {
  Part& part = parts_[batch.part];
  if (!part.reader) return;
  batch.bytes.resize(batch.count * part.reader->shape().bytes_per_vector());
  part.reader->read(batch.count, batch.bytes.data());
}

Image ImageSource::image(const Batch& batch, std::size_t i) const {
  const Part& part = parts_[batch.part];
  if (part.reader) {
    Image image = part.layout;
    const std::size_t values = image.width * image.height * image.channels;
    image.planes.resize(values);
    const std::byte* bytes = batch.bytes.data() + i * values;
    std::transform(bytes, bytes + values, image.planes.begin(),
                   [](std::byte value) { return static_cast<float>(std::to_integer<int>(value)); });
    return image;
  }
  const std::string& path = part.files[batch.first + i - part.first];
  const std::string file = read_whole_file(path, kMostFileBytes);
  const auto bytes = std::as_bytes(std::span(file));
  return is_pnm(bytes) ? decode_pnm(bytes, path) : decode_with_opencv(bytes, path);
}

}  // namespace bdnn
