#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "data/format.h"

namespace bdnn {
namespace {

// Formats with a strong signature come first; MATLAB 7.3 is an HDF5 file, so it comes before HDF5.
constexpr std::array<const Format*, 10> kFormats = {&kNpy,   &kMat73, &kHdf5,  &kMat5,    &kIdx,
                                                    &kFvecs, &kIvecs, &kBvecs, &kCifar10, &kCsv};

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() > end.size() && std::equal(end.rbegin(), end.rend(), text.rbegin(), [](char a, char b) {
           return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
         });
}

std::string_view without_gz(std::string_view path) {
  if (ends_with(path, ".gz")) path.remove_suffix(3);
  return path;
}

const Format* format_by_name(std::string_view path) {
  for (const Format* format : kFormats) {
    for (const auto extension : format->extensions) {
      if (ends_with(without_gz(path), extension)) return format;
    }
  }
  return nullptr;
}

std::string known_extensions(bool writable) {
  std::string list;
  for (const Format* format : kFormats) {
    if (writable && format->create == nullptr) continue;
    for (const auto extension : format->extensions) {
      if (list.find(std::string(extension) + " ") == std::string::npos) list += std::string(extension) + " ";
    }
  }
  if (!list.empty()) list.pop_back();
  return list;
}

}  // namespace

bool Source::starts_with(std::string_view signature, std::size_t at) const {
  return head.size() >= at + signature.size() && std::memcmp(head.data() + at, signature.data(), signature.size()) == 0;
}

std::unique_ptr<ByteStream> Source::open() const { return gzip ? open_gzip(path) : open_plain(path); }

std::span<const Format* const> formats() { return kFormats; }

SourceName split_source_name(const std::string& path) {
  const auto colon = path.rfind(':');
  const bool split = colon != std::string::npos && colon > 0 && colon + 1 < path.size() &&
                     !std::filesystem::exists(path) && std::filesystem::exists(path.substr(0, colon));
  return split ? SourceName{path.substr(0, colon), path.substr(colon + 1)} : SourceName{path, ""};
}

Source open_source(const VectorsFile& wanted) {
  Source source;
  const SourceName name = split_source_name(wanted.path);
  source.path = name.file;
  source.part = name.part;
  source.columns = wanted.columns;

  const InputFile file(source.path);
  source.size = file.size();
  if (source.size == 0) failure("{}: is empty; expected a file of vectors", source.path);
  std::array<std::byte, 2> magic{};
  file.read_some_at(0, magic);
  source.gzip = magic[0] == std::byte{0x1f} && magic[1] == std::byte{0x8b};
  source.head.resize(Source::kHeadBytes);
  if (!source.gzip) {
    source.head.resize(file.read_some_at(0, source.head));
    return source;
  }
  // gzip keeps the size only modulo 2^32 and unchecked, so it is counted.
  const auto stream = open_gzip(source.path);
  source.head.resize(stream->read_some(source.head));
  source.size = source.head.size();
  std::vector<std::byte> sink(1 << 16);
  while (const std::size_t n = stream->read_some(sink)) source.size += n;
  return source;
}

const Format& format_of(const Source& source) {
  for (const Format* format : kFormats) {
    if (format->recognise != nullptr && format->recognise(source)) return *format;
  }
  const Format* named = format_by_name(source.path);
  if (named == nullptr) {
    failure("{}: has no known format by its content or its name; known names end in {}", source.path,
            known_extensions(false));
  }
  return *named;
}

bool is_gzip_name(const std::string& path) { return ends_with(path, ".gz"); }

const Format& format_for_writing(const std::string& path) {
  const Format* named = format_by_name(path);
  if (named == nullptr || named->create == nullptr) {
    misuse("{}: the name does not select a format to write; known names end in {}", path, known_extensions(true));
  }
  if (is_gzip_name(path) && !named->writes_gzip) {
    misuse("{}: {} cannot be written compressed; leave out .gz, and use gzip", path, named->name);
  }
  return *named;
}

void check_columns(const Source& source, const Format& format) {
  if (source.columns.empty() || &format == &kCsv) return;
  misuse("{}: columns can be selected only in CSV files; this is a {} file", source.path, format.name);
}

bool is_csv(const std::string& path) {
  return format_by_name(split_source_name(path).file) == &kCsv && &format_of(open_source(path)) == &kCsv;
}

void require_vectors(const Destination& to) {
  if (to.shape.count == 0) misuse("{}: this format cannot hold an empty set of vectors; write .npy", to.path);
}

std::unique_ptr<VectorReader> open_vectors(const VectorsFile& file) {
  const Source source = open_source(file);
  const Format& format = format_of(source);
  check_columns(source, format);
  if (!source.part.empty() && &format != &kHdf5 && &format != &kMat5 && &format != &kMat73) {
    misuse("{}: a {} file has no named parts; leave out \":{}\"", source.path, format.name, source.part);
  }
  auto reader = format.open(source);
  const Shape& shape = reader->shape();
  // The size of the file bounds the dimension of its vectors, but not if there are none.
  constexpr std::size_t kLargestOfNone = std::size_t{1} << 24;
  if (shape.dimension == 0 || (shape.count == 0 && shape.dimension > kLargestOfNone)) {
    failure("{}: holds no vectors ({} of dimension {})", source.name(), shape.count, shape.dimension);
  }
  return reader;
}

}  // namespace bdnn
