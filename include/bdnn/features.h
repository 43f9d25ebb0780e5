// Features of images: the vectors that codes are learned from.
//
//     bdnn::gist_features({"train-images-idx3-ubyte.gz"}, "train.fvecs", {}, progress);
//
// Images come from idx files (MNIST), CIFAR-10 batches, image files, and folders of image files, which are read in
// path order, subfolders included. PGM and PPM are always read; PNG, JPEG and others if bdnn was built with
// OpenCV. Features are written in any format of vectors that can be written, in memory that does not grow with the
// number of images. They depend neither on the number of threads nor on other images.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bdnn/progress.h"

namespace bdnn {

// GIST (Oliva and Torralba, IJCV 2001), as their program LMgist computes it; docs/features.md has the formulas.
struct GistOptions {
  std::vector<std::size_t> orientations = {8, 8, 8, 8};  // per scale, the finest first; {8, 8, 4}: 320 features
  std::size_t blocks = 4;                                // features are averages over a grid of blocks x blocks
  // Images are scaled and cropped to size x size. 0: their own size, cropped to a square; 256 for image files.
  std::size_t size = 0;
  std::size_t border = 32;  // width in pixels of the mirrored border around images, against edge effects
  int threads = 0;          // 0: one per core
};
std::size_t gist_dimension(const GistOptions& options);  // 512 by default

// The outputs of a layer of a neural network (ONNX, Caffe, TensorFlow), through OpenCV's dnn module.
struct CnnOptions {
  std::string network;                   // .onnx, .caffemodel or .pb
  std::string config;                    // Caffe: the .prototxt; TensorFlow: optionally a .pbtxt
  std::string layer;                     // "": the last
  std::size_t size = 224;                // images are scaled to size x size pixels, as bytes ...
  bool cubic = false;                    // ... by cubic interpolation, otherwise linear
  std::vector<double> mean = {0, 0, 0};  // subtracted from the channels, in the order that `bgr` sets ...
  double scale = 1;                      // ... then multiplied
  bool bgr = false;                      // channel order: blue, green, red, as Caffe's networks expect
  int threads = 0;                       // 0: one per core; each has its own copy of the network
};

// Whether bdnn was built with OpenCV; without it, cnn_features() raises Error.
bool has_opencv();

struct FeaturesResult {
  std::size_t images = 0;
  std::size_t dimension = 0;
  std::vector<std::string>
      names;  // names of image files relative to their folder, in the order of the features; empty for other images
};
FeaturesResult gist_features(const std::vector<std::string>& images, const std::string& out, const GistOptions& options,
                             Progress& progress);
FeaturesResult cnn_features(const std::vector<std::string>& images, const std::string& out, const CnnOptions& options,
                            Progress& progress);

}  // namespace bdnn
