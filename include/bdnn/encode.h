// From vectors to codes and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "bdnn/codes.h"
#include "bdnn/hidden.h"
#include "bdnn/model.h"
#include "bdnn/progress.h"
#include "bdnn/vectors.h"

namespace bdnn {

// Which codes to compute, and how.
struct EncodeOptions {
  // false: the signs of the hash function, for Hamming distance. true: nearby codes with a smaller
  // reconstruction error by the decoder, for search by reconstruction (bdnn/scores.h).
  bool refined = false;
  int local_search = 8;  // of refined codes: rounds of search beyond the nearest minimum; more are better and slower
  int threads = 0;       // 0: one per core
};

// A model prepared for encoding: weights are packed and threads started once. Once warm, encode() allocates only what
// it returns. Not thread-safe: give each thread its own.
//
//     bdnn::Encoder encoder(model);
//     encoder.encode(vector, code);                 // one vector: dimension() floats to bytes_per_code() bytes
//     bdnn::Codes codes = encoder.encode(vectors);  // many, on all threads
class Encoder {
 public:
  // Asking for refined codes raises Error if the model has no decoder.
  explicit Encoder(const Model& model, const EncodeOptions& options = {});
  ~Encoder();
  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;

  std::size_t dimension() const;
  std::size_t bits() const;
  std::size_t bytes_per_code() const;
  const CodesOrigin& origin() const;  // origin of the codes it makes

  // Encodes one vector on the calling thread. A value that is not finite raises Error.
  void encode(const float* vector, std::uint8_t* code);

  // Encodes all vectors, one code after the other. A value that is not finite raises Error with the vector's number.
  void encode(const Vectors& vectors, std::uint8_t* codes);
  Codes encode(const Vectors& vectors);

  // The hash function's outputs before the sign, bits() floats per vector. A hash function without outputs raises
  // Error.
  void outputs(const Vectors& vectors, float* outputs);

 private:
  struct State;
  Hidden<State> state_;
};

// The same for a single call.
Codes encode(const Model& model, const Vectors& vectors, const EncodeOptions& options);
Codes encode(const Model& model, const Vectors& vectors, int threads = 0);

// Raises Error unless the codes fit the model: they have its length and, if their model is known, it is this one.
void check_codes_match(const Model& model, const Codes& codes);

// The hash function's outputs before the sign, as vectors of dimension bits().
Vectors outputs(const Model& model, const Vectors& vectors, int threads = 0);

// Rebuilds vectors from codes with the model's decoder. A model without a decoder, or codes of another model, raise
// Error.
Vectors reconstruct(const Model& model, const Codes& codes, int threads = 0);

// encode() from a file of vectors (any format of load_vectors) to a file of codes (.codes, .npy or .bvecs), in memory
// that does not grow with the files. Returns the number of vectors.
std::size_t encode_file(const Model& model, const VectorsFile& vectors, const std::string& codes,
                        const EncodeOptions& options, Progress& progress);

// Error of rebuilt vectors: means over all vectors.
struct ReconstructionError {
  std::size_t count = 0;
  double error = 0;     // ||x - rebuilt x||^2
  double variance = 0;  // ||x - mean x||^2: the error of rebuilding every vector as the mean
};

// reconstruct() from file to file, in memory that does not grow with the files. If `originals` is given, the error is
// measured against it; otherwise it is 0. Either `rebuilt` or `originals` may be "".
ReconstructionError reconstruct_file(const Model& model, const std::string& codes, const std::string& rebuilt,
                                     const VectorsFile& originals, int threads, Progress& progress);

}  // namespace bdnn
