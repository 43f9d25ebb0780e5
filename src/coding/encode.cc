#include "bdnn/encode.h"

#include <algorithm>
#include <cmath>

#include "base/blocks.h"
#include "base/error.h"
#include "codes/codes_file.h"
#include "coding/refiner.h"
#include "data/format.h"
#include "model/hash_encoder.h"

namespace bdnn {
namespace {

void check_dimension(const Model& model, std::size_t dimension, const std::string& what) {
  if (dimension == model.dimension()) return;
  const auto& record = model.record;
  misuse("{} have dimension {}, the model expects {} ({}{}, {} bits)", what, dimension, model.dimension(),
         record.data.empty() ? "" : "trained on " + record.data + ", ", record.method, model.bits());
}

struct Worker {
  std::vector<float> floats;
  HashEncoder::Scratch scratch;
  Refiner::Scratch refining;
};

// What the codes of a model are made with.
struct Coder {
  HashEncoder encoder;
  std::optional<Refiner> refiner;
  CodesOrigin origin;

  Coder(const Model& model, const EncodeOptions& options)
      : encoder(make_encoder(model)), origin{fingerprint(model), model.record.method} {
    if (!options.refined) return;
    refiner.emplace(model, options.local_search);
    origin.refined = true;
    origin.local_search = options.local_search;
  }
};

// Encodes vectors that stand in memory, `first` being the number of the first of them in its file.
void encode_block(const Coder& coder, const Vectors& block, std::size_t first, Worker& own, std::uint8_t* codes) {
  const HashEncoder& encoder = coder.encoder;
  const std::size_t dimension = encoder.dimension();
  const std::size_t tile = samples_per_tile(dimension);
  own.floats.resize(tile * dimension);
  const std::size_t bytes = (encoder.bits() + 7) / 8;
  for (std::size_t i = 0; i < block.size(); i += tile) {
    const std::size_t n = std::min(tile, block.size() - i);
    const float* x = block.floats(i, n, own.floats.data());
    const std::size_t bad = encoder.encode(x, n, own.scratch, codes + i * bytes);
    if (bad == n) {
      if (coder.refiner) coder.refiner->refine(x, n, own.refining, codes + i * bytes);
      continue;
    }
    const float* vector = x + bad * dimension;
    const float* entry = std::find_if(vector, vector + dimension, [](float v) { return !std::isfinite(v); });
    if (entry == vector + dimension) failure("vector {} is so large that its projections overflow", first + i + bad);
    failure("vector {} has {} in column {}; only finite numbers can be encoded", first + i + bad, *entry,
            entry - vector);
  }
}

}  // namespace

Codes encode(const Model& model, const Vectors& vectors, int threads) {
  return encode(model, vectors, EncodeOptions{.threads = threads});
}

Codes encode(const Model& model, const Vectors& vectors, const EncodeOptions& options) {
  check_dimension(model, vectors.dimension(), "the vectors");
  const Coder coder(model, options);
  const std::size_t bytes = (model.bits() + 7) / 8;
  std::vector<std::uint8_t> codes(vectors.size() * bytes);
  Threads threads(options.threads);
  std::vector<Worker> workers(static_cast<std::size_t>(threads.count()));
  threads.for_each(blocks_of(vectors.size()), [&](std::size_t block, int worker) {
    const Range range = block_range(block, vectors.size());
    encode_block(coder, vectors.slice(range.first, range.count), range.first, workers[static_cast<std::size_t>(worker)],
                 codes.data() + range.first * bytes);
  });
  return {model.bits(), vectors.size(), std::move(codes), coder.origin};
}

std::size_t encode_file(const Model& model, const std::string& from, const std::string& to,
                        const EncodeOptions& options, Progress& progress) {
  const auto reader = open_vectors(from);
  const Shape shape = reader->shape();
  check_dimension(model, shape.dimension, "the vectors of " + from);
  const Coder coder(model, options);
  const std::size_t bytes = (model.bits() + 7) / 8;
  const auto writer = create_codes(to, model.bits(), shape.count, coder.origin);

  struct FileWorker : Worker {
    std::shared_ptr<std::byte> vectors;
    std::vector<std::uint8_t> codes;
  };
  Threads threads(options.threads);
  std::vector<FileWorker> workers(static_cast<std::size_t>(threads.count()));
  for (auto& own : workers) {
    own.vectors = allocate_vectors({shape.dimension, std::min(kSamplesPerBlock, shape.count), shape.element}, from);
    own.codes.resize(kSamplesPerBlock * bytes);
  }
  Turns reading;  // the file is one stream
  threads.in_order(
      blocks_of(shape.count),
      [&](std::size_t block, int worker) {
        auto& own = workers[static_cast<std::size_t>(worker)];
        const Range range = block_range(block, shape.count);
        reading.take(block, [&] { reader->read(range.count, own.vectors.get()); });
        const Vectors vectors({shape.dimension, range.count, shape.element}, own.vectors);
        try {
          encode_block(coder, vectors, range.first, own, own.codes.data());
        } catch (const Error& error) {
          throw Error(error.kind(), from + ": " + error.what());
        }
      },
      [&](std::size_t block, int worker) {
        const Range range = block_range(block, shape.count);
        writer->write(range.count, workers[static_cast<std::size_t>(worker)].codes.data());
        progress.update("encoding", range.first + range.count, shape.count);
      });
  writer->finish();
  return shape.count;
}

}  // namespace bdnn
