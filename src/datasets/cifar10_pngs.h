// CIFAR-10 as in some packages: a PNG picture for each batch, in which row i is image i (its 1,024 pixels in
// reading order), and the labels as lists in JSON.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/byte_stream.h"

namespace bdnn {

struct Cifar10Labels {
  std::vector<std::byte> train;
  std::vector<std::byte> test;
};

// "data_batch_2.bin" -> "data_batch_2.png"
std::string cifar10_png_name(const std::string& file_name);

// A list of labels. Raises Error with `name` if it is not one.
std::vector<std::byte> parse_cifar10_labels(const std::string& text, const std::string& name);

// The batch `file_name` in CIFAR-10's binary form (data/cifar10.cc), read from its picture.
std::unique_ptr<ByteStream> open_cifar10_png(ByteStream& png, const std::string& file_name,
                                             const Cifar10Labels& labels);

}  // namespace bdnn
