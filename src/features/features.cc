#include "bdnn/features.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/threads.h"
#include "features/gist.h"
#include "features/image_source.h"
#include "features/opencv.h"

namespace bdnn {
namespace {

constexpr std::size_t kSizeOfFiles = 256;  // of image files, whose own sizes differ

using Describe = std::function<void(const Image& image, int worker, float* features)>;

// Features of all images, batch by batch: read in order, computed in parallel, written in order.
FeaturesResult write_features(ImageSource& source, const std::string& out, std::size_t dimension, Threads& threads,
                              const Describe& describe, Progress& progress) {
  const Shape shape{dimension, source.size(), Element::f32};
  const auto writer = format_for_writing(out).create({out, shape, "", {}});
  struct Worker {
    ImageSource::Batch batch;
    std::vector<float> features;
  };
  std::vector<Worker> workers(static_cast<std::size_t>(threads.count()));
  Turns reading;
  threads.in_order(
      source.batches().size(),
      [&](std::size_t b, int worker) {
        Worker& own = workers[static_cast<std::size_t>(worker)];
        const ImageSource::Batch& planned = source.batches()[b];
        own.batch.part = planned.part;
        own.batch.first = planned.first;
        own.batch.count = planned.count;
        reading.take(b, [&] { source.read(own.batch); });
        own.features.resize(planned.count * dimension);
        for (std::size_t i = 0; i < planned.count; ++i) {
          describe(source.image(own.batch, i), worker, own.features.data() + i * dimension);
        }
      },
      [&](std::size_t, int worker) {
        const Worker& own = workers[static_cast<std::size_t>(worker)];
        writer->write(own.batch.count, reinterpret_cast<const std::byte*>(own.features.data()));
        progress.update("images", own.batch.first + own.batch.count, source.size());
      });
  writer->finish();
  return {source.size(), dimension, source.names()};
}

}  // namespace

FeaturesResult gist_features(const std::vector<std::string>& images, const std::string& out, const GistOptions& options,
                             Progress& progress) {
  ImageSource source(images);
  std::size_t side = options.size;
  if (side == 0) {
    const auto [width, height] = source.extent();
    if (width == 0 && source.names().size() != source.size()) {
      misuse("the images have different sizes; give the size to scale them to");
    }
    side = width == 0 ? kSizeOfFiles : std::min(width, height);
  }
  const Gist gist(options, side);
  Threads threads(options.threads);
  std::vector<Gist::Scratch> scratch(static_cast<std::size_t>(threads.count()));
  const auto describe = [&](const Image& image, int worker, float* features) {
    std::vector<float> grey = grey_plane(image);
    if (image.width != side || image.height != side) grey = resized_square(grey, image.width, image.height, side);
    gist.describe(grey.data(), scratch[static_cast<std::size_t>(worker)], features);
  };
  return write_features(source, out, gist.dimension(), threads, describe, progress);
}

FeaturesResult cnn_features(const std::vector<std::string>& images, const std::string& out, const CnnOptions& options,
                            Progress& progress) {
  auto first = load_network(options);
  const std::size_t dimension = first->dimension();
  ImageSource source(images);
  Threads threads(options.threads);
  std::vector<std::unique_ptr<NetworkRunner>> networks(static_cast<std::size_t>(threads.count()));
  networks[0] = std::move(first);
  const auto describe = [&](const Image& image, int worker, float* features) {
    auto& network = networks[static_cast<std::size_t>(worker)];
    if (!network) network = load_network(options);
    network->describe(image, features);
  };
  return write_features(source, out, dimension, threads, describe, progress);
}

}  // namespace bdnn
