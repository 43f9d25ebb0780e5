// Sources of images: idx files, CIFAR-10 batches, image files, and folders of them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "data/format.h"
#include "features/image.h"

namespace bdnn {

// The images of several files and folders, one after the other; those of a folder and its subfolders in the order of
// their paths. Held in memory a batch at a time.
class ImageSource {
 public:
  explicit ImageSource(const std::vector<std::string>& paths);

  std::size_t size() const { return size_; }
  const std::vector<std::string>& names() const { return names_; }  // one per image file; none for idx and CIFAR-10

  // Width and height that all images have; {0, 0} if they differ or are known only by opening each image.
  struct Extent {
    std::size_t width = 0;
    std::size_t height = 0;
  };
  Extent extent() const;

  // Images [first, first + count), all from one file of many images or all image files.
  struct Batch {
    std::size_t part = 0;
    std::size_t first = 0;  // of all images
    std::size_t count = 0;
    std::vector<std::byte> bytes = {};  // of a file of many images
  };
  const std::vector<Batch>& batches() const { return batches_; }  // without their bytes

  // Fills a batch's bytes. Batches of one part are read in order, by one thread at a time.
  void read(Batch& batch);
  // Image number batch.first + i. Any thread.
  Image image(const Batch& batch, std::size_t i) const;

 private:
  struct Part {
    std::string path;
    std::unique_ptr<VectorReader> reader;  // null: image files
    Image layout = {};                     // without pixels
    std::size_t first = 0;                 // of all images
    std::vector<std::string> files = {};
  };
  void add_file_of_images(const std::string& path);
  void add_image_files(const std::string& path, std::vector<std::string> files, std::vector<std::string> names);

  std::vector<Part> parts_;
  std::vector<Batch> batches_;
  std::vector<std::string> names_;
  std::size_t size_ = 0;
};

}  // namespace bdnn
