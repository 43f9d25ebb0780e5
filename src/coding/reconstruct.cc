// Vectors rebuilt from codes.
#include <algorithm>
#include <cmath>
#include <span>

#include "base/blocks.h"
#include "base/checksum.h"
#include "base/error.h"
#include "bdnn/encode.h"
#include "codes/codes_file.h"
#include "coding/refiner.h"
#include "data/format.h"
#include "model/hash_function.h"

namespace bdnn {

namespace {

// Sums over samples x and their rebuilt vectors.
struct ErrorSums {
  double error = 0;       // ||x - rebuilt x||^2
  double squares = 0;     // ||x||^2
  std::vector<double> x;  // entry by entry

  ErrorSums& operator+=(const ErrorSums& other) {
    error += other.error;
    squares += other.squares;
    for (std::size_t k = 0; k < x.size(); ++k) x[k] += other.x[k];
    return *this;
  }
};

// Mapped, so that memory does not grow with the file, but read once for its checksum.
Codes verified_codes(const std::string& path) {
  Codes codes = map_codes(path);
  const std::span bytes(codes.data(), codes.size() * codes.bytes_per_code());
  if (checksum(std::as_bytes(bytes)) != read_codes_header(path).payload_checksum) {
    failure("{}: is damaged: the checksum of its codes does not match", path);
  }
  return codes;
}

}  // namespace

Vectors reconstruct(const Model& model, const Codes& codes, int threads) {
  const DecoderView decoder(model);
  check_codes_match(model, codes);
  const std::size_t dimension = model.dimension();
  std::vector<float> values(dimension * codes.size());
  Threads team(threads);
  team.for_each(blocks_of(codes.size()), [&](std::size_t block, int) {
    const Range range = block_range(block, codes.size());
    std::vector<float> b;
    decoder.rebuild(codes[range.first].data(), range.count, b, values.data() + range.first * dimension);
  });
  return {dimension, codes.size(), std::move(values)};
}

ReconstructionError reconstruct_file(const Model& model, const std::string& from, const std::string& rebuilt,
                                     const VectorsFile& originals, int thread_count, Progress& progress) {
  const DecoderView decoder(model);
  const Codes codes = is_codes_file(from) ? verified_codes(from) : load_codes(from, model.bits());
  check_codes_match(model, codes);
  const Shape shape{model.dimension(), codes.size(), Element::f32};
  std::unique_ptr<VectorReader> reader;
  Shape read;
  if (!originals.path.empty()) {
    reader = open_vectors(originals);
    read = reader->shape();
    if (read.dimension != shape.dimension || read.count != shape.count) {
      misuse("{} has {} vectors of dimension {}, and {} codes rebuild dimension {}", originals.path, read.count,
             read.dimension, shape.count, shape.dimension);
    }
  }
  std::unique_ptr<VectorWriter> writer;
  if (!rebuilt.empty()) writer = format_for_writing(rebuilt).create({rebuilt, shape, ""});

  struct Worker {
    std::vector<float> b;
    std::vector<float> rebuilt;
    std::vector<float> originals;
    std::shared_ptr<std::byte> bytes;
    ErrorSums sums;
  };
  Threads threads(thread_count);
  std::vector<Worker> workers(static_cast<std::size_t>(threads.count()));
  Turns reading;
  TreeSum<ErrorSums> tree{ErrorSums()};
  const auto compare = [&](Worker& own, const Range& range) {
    const Vectors block({read.dimension, range.count, read.element}, own.bytes);
    own.originals.resize(range.count * shape.dimension);
    const float* x = block.floats(0, range.count, own.originals.data());
    own.sums = {0, 0, std::vector<double>(shape.dimension)};
    for (std::size_t i = 0; i < range.count * shape.dimension; ++i) {
      const double difference = static_cast<double>(x[i]) - static_cast<double>(own.rebuilt[i]);
      own.sums.error += difference * difference;
      own.sums.squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      own.sums.x[i % shape.dimension] += static_cast<double>(x[i]);
    }
  };
  threads.in_order(
      blocks_of(shape.count),
      [&](std::size_t block, int worker) {
        Worker& own = workers[static_cast<std::size_t>(worker)];
        const Range range = block_range(block, shape.count);
        own.rebuilt.resize(range.count * shape.dimension);
        if (reader && !own.bytes) {
          own.bytes =
              allocate_vectors({read.dimension, std::min(kSamplesPerBlock, read.count), read.element}, originals.path);
        }
        if (reader) reading.take(block, [&] { reader->read(range.count, own.bytes.get()); });
        decoder.rebuild(codes[range.first].data(), range.count, own.b, own.rebuilt.data());
        if (reader) compare(own, range);
      },
      [&](std::size_t block, int worker) {
        const Worker& own = workers[static_cast<std::size_t>(worker)];
        const Range range = block_range(block, shape.count);
        if (writer) writer->write(range.count, reinterpret_cast<const std::byte*>(own.rebuilt.data()));
        if (reader) tree.add([&](ErrorSums& sum) { sum = own.sums; });
        progress.update("decoding", range.first + range.count, shape.count);
      });
  const ErrorSums* total = tree.total();
  if (total != nullptr && !std::isfinite(total->error))
    failure("{}: holds numbers that are not finite, or too large", originals.path);
  if (writer) writer->finish();
  ReconstructionError result{shape.count};
  if (total == nullptr) return result;
  const auto m = static_cast<double>(shape.count);
  result.error = total->error / m;
  double mean_squares = 0;
  for (const double s : total->x) mean_squares += (s / m) * (s / m);
  result.variance = total->squares / m - mean_squares;
  return result;
}

}  // namespace bdnn
