// From vectors to codes, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "bdnn/codes.h"
#include "bdnn/model.h"
#include "bdnn/progress.h"
#include "bdnn/vectors.h"

namespace bdnn {

// Which codes a model gives.
struct EncodeOptions {
  // false: the signs of the hash function, for Hamming distance. true: the codes, near those, from which the decoder
  // rebuilds the vectors best, for search by reconstruction (bdnn/scores.h).
  bool refined = false;
  int local_search = 8;  // of refined codes: rounds of search beyond the nearest minimum; more take longer
  int threads = 0;       // 0: one per core
};

// A model made ready to encode: weights are packed and threads started once. Once warm, it allocates nothing but what
// it returns. One thread may use it at a time; threads that encode at the same time have one each.
//
//     bdnn::Encoder encoder(model);
//     encoder.encode(vector, code);                 // one vector: dimension() floats to bytes_per_code() bytes
//     bdnn::Codes codes = encoder.encode(vectors);  // many, on all threads
class Encoder {
 public:
  // Refined codes of a model without a decoder raise Error.
  explicit Encoder(const Model& model, const EncodeOptions& options = {});
  ~Encoder();
  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;

  std::size_t dimension() const;
  std::size_t bits() const;
  std::size_t bytes_per_code() const;
  const CodesOrigin& origin() const;  // of the codes it makes

  // The code of one vector, on the calling thread. A vector that is not finite raises Error.
  void encode(const float* vector, std::uint8_t* code);

  // The codes of all vectors, one after the other. One that is not finite raises Error with its number.
  void encode(const Vectors& vectors, std::uint8_t* codes);
  Codes encode(const Vectors& vectors);

  // The outputs before the sign, bits() floats per vector. A hash function without outputs raises Error.
  void outputs(const Vectors& vectors, float* outputs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The same, once.
Codes encode(const Model& model, const Vectors& vectors, const EncodeOptions& options);
Codes encode(const Model& model, const Vectors& vectors, int threads = 0);

// Raises Error unless the codes can be read through the model: they have its length and, where they know their model,
// were made by it.
void check_codes_match(const Model& model, const Codes& codes);

// The outputs of the hash function before the sign: vectors of bits() floats.
Vectors outputs(const Model& model, const Vectors& vectors, int threads = 0);

// The vectors that the model's decoder rebuilds from codes: dimension() floats each. A model without a decoder, or
// codes of another model, raise Error.
Vectors reconstruct(const Model& model, const Codes& codes, int threads = 0);

// encode() from file to file (any format that load_vectors reads; .codes, .npy or .bvecs), in memory that does not
// grow with the files. Returns the number of vectors.
std::size_t encode_file(const Model& model, const std::string& vectors, const std::string& codes,
                        const EncodeOptions& options, Progress& progress);

// How far rebuilt vectors are from the originals: means over all vectors.
struct ReconstructionError {
  std::size_t count = 0;
  double error = 0;     // ||x - rebuilt x||^2
  double variance = 0;  // ||x - mean x||^2: what one code for all would leave
};

// reconstruct() from file to file, in memory that does not grow with the files. Beside the originals, if they are
// named, the error is measured; else it is 0. Either `rebuilt` or `originals` may be "".
ReconstructionError reconstruct_file(const Model& model, const std::string& codes, const std::string& rebuilt,
                                     const std::string& originals, int threads, Progress& progress);

}  // namespace bdnn
