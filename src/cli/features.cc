#include "bdnn/features.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"
#include "base/files.h"
#include "bdnn/vectors.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "data/convert.h"

namespace bdnn::cli {
namespace {

struct FeaturesArguments {
  std::vector<std::string> images;
  std::string out;
  std::string names;
  std::string labels;
  GistOptions gist;
  CnnOptions cnn;
  std::vector<std::string> mean;
  std::string scale = "1";
  std::string order = "rgb";
  std::string interpolation = "linear";
  int threads = 0;
  bool json = false;
};

// "0.5" or "1/127.5".
double number_from(const std::string& option, const std::string& text) {
  const auto parse = [&](std::string_view part) {
    double value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || !(std::abs(value) <= 1e30)) {
      misuse("{} {} is not a number, such as 127.5 or 1/255", option, text);
    }
    return value;
  };
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return parse(text);
  const double divisor = parse(std::string_view(text).substr(slash + 1));
  if (divisor == 0) misuse("{} {} divides by zero", option, text);
  return parse(std::string_view(text).substr(0, slash)) / divisor;
}

void write_names(const std::vector<std::string>& names, const std::string& path) {
  OutputFile file(path);
  for (const auto& name : names) {
    if (name.find('\n') != std::string::npos) failure("{}: a name with a line break cannot be written", name);
    file.write(name + "\n");
  }
  file.commit();
}

// The labels stored with the images, of all files in turn.
std::vector<std::int64_t> labels_beside(const std::vector<std::string>& images) {
  std::vector<std::int64_t> all;
  for (const auto& path : images) {
    const auto own = load_labels(path);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

template <class Compute>
void features_verb(const FeaturesArguments& arguments, const Compute& compute) {
  std::vector<NamedFile> inputs = {{"--network", arguments.cnn.network}, {"--config", arguments.cnn.config}};
  for (const auto& path : arguments.images) inputs.push_back({"--images", path});
  check_outputs({{"--out", arguments.out}, {"--names", arguments.names}, {"--labels", arguments.labels}}, inputs);
  std::vector<std::int64_t> labels;
  if (!arguments.labels.empty()) labels = labels_beside(arguments.images);
  const auto progress = make_progress();
  const Stopwatch watch;
  const FeaturesResult result = compute(*progress);
  const double seconds = watch.seconds();
  if (!arguments.names.empty()) write_names(result.names, arguments.names);
  if (!arguments.labels.empty()) save_labels(labels, arguments.labels);
  output_stands_now();
  const double rate = static_cast<double>(result.images) / seconds;
  if (arguments.json) {
    print_json({{"file", arguments.out},
                {"images", result.images},
                {"dimension", result.dimension},
                {"seconds", seconds},
                {"images_per_second", rate},
                {"peak_memory_bytes", peak_memory()}});
    return;
  }
  fmt::print("{}: {} features of each of {} images; {:.2f} s, {:.1f} images per second, {:.0f} MB at most\n",
             printable(arguments.out), result.dimension, with_commas(result.images), seconds, rate,
             static_cast<double>(peak_memory()) / 1e6);
}

void add_common_options(Verb verb, const std::shared_ptr<FeaturesArguments>& arguments) {
  verb.texts("--images", arguments->images,
             "Images: idx files, CIFAR-10 batches, image files, or folders of image files; several are concatenated")
      .required();
  verb.text("--out", arguments->out, "Output file for the features, in any format of vectors").required();
  verb.text("--names", arguments->names, "Write the names of the image files to this file, one per line");
  verb.text("--labels", arguments->labels, "Write the labels stored with the images (CIFAR-10) to this file");
}

void add_gist(Verb features) {
  const auto arguments = std::make_shared<FeaturesArguments>();
  Verb verb = features.add_verb("gist", "GIST descriptors (Oliva and Torralba)");
  verb.examples(
      "  bdnn features gist --images train-images-idx3-ubyte.gz --out train.fvecs\n"
      "  bdnn features gist --images data_batch_*.bin --out train.gist512.npy --labels train.labels.npy\n"
      "  bdnn features gist --images test_batch.bin --orientations 8,8,4 --out test.gist320.npy\n"
      "  bdnn features gist --images photos --size 128 --out photos.fvecs --names photos.txt");
  add_common_options(verb, arguments);
  verb.numbers("--orientations", arguments->gist.orientations,
               "Orientations per scale, the finest scale first, separated by commas (default: 8,8,8,8)")
      .separated_by(',');
  verb.number("--blocks", arguments->gist.blocks, "Average over a grid of N by N blocks").shows_default();
  verb.number("--size", arguments->gist.size,
              "Scale and crop images to N by N pixels (default: their own size; 256 for image files)")
      .at_least_1();
  verb.number("--border", arguments->gist.border, "Width in pixels of the mirrored border around the image")
      .shows_default();
  add_threads_option(verb, arguments->threads);
  add_json_option(verb, arguments->json);
  verb.runs([arguments] {
    arguments->gist.threads = arguments->threads;
    features_verb(*arguments, [&](Progress& progress) {
      return gist_features(arguments->images, arguments->out, arguments->gist, progress);
    });
  });
}

void add_cnn(Verb features) {
  const auto arguments = std::make_shared<FeaturesArguments>();
  Verb verb = features.add_verb("cnn", "Outputs of a layer of a neural network: ONNX, Caffe, TensorFlow");
  verb.examples(
      "  bdnn features cnn --network mobilenet.onnx --layer feat --size 160 --mean 127.5 --scale 1/127.5 "
      "--images data_batch_*.bin --out train.npy\n"
      "  bdnn features cnn --network alexnet.caffemodel --config deploy.prototxt --layer fc7 --size 227 "
      "--mean 104,117,123 --order bgr --images photos --out photos.fvecs --names photos.txt");
  add_common_options(verb, arguments);
  verb.text("--network", arguments->cnn.network, "Network: .onnx, .caffemodel or .pb").required();
  verb.text("--config", arguments->cnn.config, "Caffe's .prototxt, or TensorFlow's .pbtxt");
  verb.text("--layer", arguments->cnn.layer, "Layer whose outputs are the features (default: the last)");
  verb.number("--size", arguments->cnn.size, "Scale images to N by N pixels").shows_default();
  verb.text("--interpolation", arguments->interpolation, "Interpolation used for scaling")
      .one_of({"linear", "cubic"})
      .shows_default();
  verb.texts("--mean", arguments->mean,
             "Value to subtract from pixels of 0 to 255: one, or one per channel, separated by commas (default: 0)")
      .separated_by(',');
  verb.text("--scale", arguments->scale, "Factor to multiply by after subtracting --mean, such as 1/127.5")
      .shows_default();
  verb.text("--order", arguments->order, "Channel order of the network's input and of --mean")
      .one_of({"rgb", "bgr"})
      .shows_default();
  add_threads_option(verb, arguments->threads);
  add_json_option(verb, arguments->json);
  verb.runs([arguments] {
    CnnOptions& cnn = arguments->cnn;
    if (!arguments->mean.empty()) {
      if (arguments->mean.size() != 1 && arguments->mean.size() != 3) {
        misuse("--mean has {} numbers; give one, or one for each of the 3 channels", arguments->mean.size());
      }
      for (std::size_t c = 0; c < 3; ++c) {
        cnn.mean[c] = number_from("--mean", arguments->mean[arguments->mean.size() == 1 ? 0 : c]);
      }
    }
    cnn.scale = number_from("--scale", arguments->scale);
    cnn.cubic = arguments->interpolation == "cubic";
    cnn.bgr = arguments->order == "bgr";
    cnn.threads = arguments->threads;
    features_verb(*arguments,
                  [&](Progress& progress) { return cnn_features(arguments->images, arguments->out, cnn, progress); });
  });
}

}  // namespace

void add_features(Verb program) {
  Verb features = add_verb(program, "features", "Compute features of images: GIST, or a layer of a neural network",
                           "  bdnn features gist --images train-images-idx3-ubyte.gz --out train.fvecs\n"
                           "  bdnn features cnn --network mobilenet.onnx --layer feat --images photos --out x.npy\n\n"
                           "docs/features.md explains how they are computed.");
  features.requires_verb();
  add_gist(features);
  add_cnn(features);
}

}  // namespace bdnn::cli
