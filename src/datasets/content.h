// The content of a dataset's files, independent of compression and form; checksums refer to it.
//
//     file           content
//     x.gz           x, decompressed
//     x.bvecs        x.fvecs: the same vectors as floats. A quarter of the size
//     any other      the file
#pragma once

#include <memory>
#include <string>

#include "bdnn/error.h"
#include "bdnn/progress.h"
#include "data/byte_stream.h"
#include "datasets/catalog.h"

namespace bdnn {

// Raised if the file could not be written: another source would not help.
class CannotWrite : public Error {
 public:
  using Error::Error;
};

// "base.bvecs" -> "base.fvecs"
std::string content_name(const std::string& file_name);

// The content of a file at `path`, whose form is that of the file name `as`.
std::unique_ptr<ByteStream> open_content(const std::string& path, const std::string& as);

enum class FileState { absent, good, different };

struct FileCheck {
  FileState state = FileState::absent;
  std::string why;  // if different: "its sha256 is ..., not ..."
};

// Reads the whole file at `path`, in the form of `as`, and compares its content.
FileCheck check_content(const std::string& path, const std::string& as, const DatasetFile& file, Progress& progress);

// By size alone, without reading the file.
FileCheck check_size(const std::string& path, const DatasetFile& file);

// Writes content as `file` to `path`. Raises Error, and leaves `path` unchanged, if it is not the content of the file;
// CannotWrite if it cannot be written.
void write_content(ByteStream& content, const DatasetFile& file, const std::string& path, Progress& progress);

// Copies bytes as they are. Raises CannotWrite likewise.
void copy_file(const std::string& from, const std::string& to);

// The sha256 of a file's bytes as they are.
std::string sha256_of_file(const std::string& path, Progress& progress);

}  // namespace bdnn
