#include "bdnn/encode.h"

#include <algorithm>
#include <cmath>

#include "base/blocks.h"
#include "base/error.h"
#include "codes/codes_file.h"
#include "coding/refiner.h"
#include "data/format.h"
#include "model/hash_function.h"

namespace bdnn {
namespace {

// The origin of the model, for messages: "(trained on mnist, itq, 32 bits)".
std::string record_of(const Model& model) {
  return fmt::format("({}{}, {} bits)", model.record.data.empty() ? "" : "trained on " + model.record.data + ", ",
                     model.record.method, model.bits());
}

void check_dimension(std::size_t expected, const std::string& record, std::size_t dimension, const std::string& what) {
  if (dimension == expected) return;
  misuse("{} have dimension {}, the model expects {} {}", what, dimension, expected, record);
}

struct Worker {
  std::vector<float> floats;
  HashEncoder::Scratch scratch;
  Refiner::Scratch refining;
};

// The encoder and refiner of a model; shared by all threads.
struct Coder {
  HashEncoder encoder;
  std::optional<Refiner> refiner;
  CodesOrigin origin;

  Coder(const Model& model, const EncodeOptions& options)
      : encoder(model), origin{fingerprint(model), model.record.method} {
    if (!options.refined) return;
    refiner.emplace(model, options.local_search);
    origin.refined = true;
    origin.local_search = options.local_search;
  }
};

// Encodes a tile of vectors, `first` being the number of the first of them. They are `vectors` from number `at`
// on, or, if that is null, floats from the start.
void encode_tile(const Coder& coder, const float* x, std::size_t count, std::size_t first, Worker& own,
                 std::uint8_t* codes, const Vectors* vectors = nullptr, std::size_t at = 0) {
  const std::size_t bad = coder.encoder.encode(x, count, own.scratch, codes);
  if (bad == count) {
    if (coder.refiner) coder.refiner->refine(x, count, own.refining, codes);
    return;
  }
  const std::size_t dimension = coder.encoder.dimension();
  const float* vector = x + bad * dimension;
  const float* entry = std::find_if(vector, vector + dimension, [](float v) { return !std::isfinite(v); });
  if (entry == vector + dimension) failure("vector {} is so large that its projections overflow", first + bad);
  const auto column = static_cast<std::size_t>(entry - vector);
  failure("vector {} has {} in column {}; only finite numbers can be encoded", first + bad,
          vectors == nullptr ? fmt::format("{}", *entry) : not_finite_text(*vectors, at + bad, column), column);
}

// Encodes vectors [range.first, range.first + range.count), numbered from `first` on in messages.
void encode_range(const Coder& coder, const Vectors& vectors, const Range& range, std::size_t first, Worker& own,
                  std::uint8_t* codes) {
  const std::size_t tile = samples_per_tile(coder.encoder.dimension());
  own.floats.resize(tile * coder.encoder.dimension());
  for_each_tile(range, tile, [&](std::size_t i, std::size_t count) {
    const float* x = vectors.floats(i, count, own.floats.data());
    encode_tile(coder, x, count, first + i - range.first, own,
                codes + (i - range.first) * coder.encoder.bytes_per_code(), &vectors, i);
  });
}

}  // namespace

struct Encoder::State {
  Coder coder;
  std::string record;  // for messages
  Threads threads;
  std::vector<Worker> workers;

  State(const Model& model, const EncodeOptions& options)
      : coder(model, options),
        record(record_of(model)),
        threads(options.threads),
        workers(static_cast<std::size_t>(threads.count())) {}
};

Encoder::Encoder(const Model& model, const EncodeOptions& options) : state_(std::make_unique<State>(model, options)) {}
Encoder::~Encoder() = default;
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;

std::size_t Encoder::dimension() const { return state_->coder.encoder.dimension(); }
std::size_t Encoder::bits() const { return state_->coder.encoder.bits(); }
std::size_t Encoder::bytes_per_code() const { return state_->coder.encoder.bytes_per_code(); }
const CodesOrigin& Encoder::origin() const { return state_->coder.origin; }

void Encoder::encode(const float* vector, std::uint8_t* code) {
  encode_tile(state_->coder, vector, 1, 0, state_->workers[0], code);
}

void Encoder::encode(const Vectors& vectors, std::uint8_t* codes) {
  check_dimension(dimension(), state_->record, vectors.dimension(), "the vectors");
  // One pointer is all that a call on every thread can carry without allocating.
  struct Job {
    State& state;
    const Vectors& vectors;
    std::uint8_t* codes;
  } job{*state_, vectors, codes};
  state_->threads.for_each(blocks_of(vectors.size()), [&job](std::size_t block, int worker) {
    const Range range = block_range(block, job.vectors.size());
    encode_range(job.state.coder, job.vectors, range, range.first, job.state.workers[static_cast<std::size_t>(worker)],
                 job.codes + range.first * job.state.coder.encoder.bytes_per_code());
  });
}

Codes Encoder::encode(const Vectors& vectors) {
  std::vector<std::uint8_t> codes(vectors.size() * bytes_per_code());
  encode(vectors, codes.data());
  return {bits(), vectors.size(), std::move(codes), origin()};
}

void Encoder::outputs(const Vectors& vectors, float* outputs) {
  check_dimension(dimension(), state_->record, vectors.dimension(), "the vectors");
  outputs_of(state_->coder.encoder, vectors, state_->threads, outputs);
}

Codes encode(const Model& model, const Vectors& vectors, int threads) {
  return encode(model, vectors, EncodeOptions{.threads = threads});
}

Codes encode(const Model& model, const Vectors& vectors, const EncodeOptions& options) {
  return Encoder(model, options).encode(vectors);
}

Vectors outputs(const Model& model, const Vectors& vectors, int threads) {
  Encoder encoder(model, {.threads = threads});
  std::vector<float> values(encoder.bits() * vectors.size());
  encoder.outputs(vectors, values.data());
  return {encoder.bits(), vectors.size(), std::move(values)};
}

std::size_t encode_file(const Model& model, const VectorsFile& file, const std::string& to,
                        const EncodeOptions& options, Progress& progress) {
  const std::string& from = file.path;
  const auto reader = open_vectors(file);
  const Shape shape = reader->shape();
  check_dimension(model.dimension(), record_of(model), shape.dimension, "the vectors of " + from);
  const Coder coder(model, options);
  const std::size_t bytes = coder.encoder.bytes_per_code();
  const auto writer = create_codes(to, model.bits(), shape.count, coder.origin);

  struct FileWorker : Worker {
    std::shared_ptr<std::byte> vectors;
    std::vector<std::uint8_t> codes;
  };
  Threads threads(options.threads, &progress);
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
        with_name(from, [&] { encode_range(coder, vectors, {0, range.count}, range.first, own, own.codes.data()); });
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
