// The hash function of a model, whatever its form: the only place, with bdnn/model.h, that lists the forms.
#pragma once

#include <variant>

#include "base/threads.h"
#include "bdnn/codes.h"
#include "bdnn/vectors.h"
#include "model/anchor_form.h"
#include "model/network_form.h"
#include "model/quantizer_form.h"
#include "model/trees_form.h"

namespace bdnn {

// From now on the function divides its input vectors by their length.
void scale_inputs_to_unit_length(HashFunction& function);

// Raises Error if a hash function, a reduction or a decoder is inconsistent.
void validate(const HashFunction& function);
void validate(const Model& model);

// To and from a model file; the fact "form" has the form's name.
void write_function(const HashFunction& function, TensorFileWriter& writer);
HashFunction read_function(const TensorFileReader& reader);

// To and from a model file that has a reduction.
void write_reduction(const Layer& reduction, TensorFileWriter& writer);
std::optional<Layer> read_reduction(const TensorFileReader& reader, std::size_t outputs);

// A hash function, or a model's with its reduction, made ready to run on blocks of samples; shared by all threads.
class HashEncoder {
 public:
  explicit HashEncoder(const HashFunction& function);
  explicit HashEncoder(const Model& model);

  std::size_t dimension() const { return dimension_; }
  std::size_t bits() const { return bits_; }
  std::size_t bytes_per_code() const { return bytes_for_bits(bits_); }
  bool has_outputs() const;

  using Scratch = EncoderScratch;

  // The outputs before the sign: bits() x count, in `scratch`. x is dimension() x count. A form without outputs raises
  // Error.
  const float* outputs(const float* x, std::size_t count, Scratch& scratch) const;

  // The codes of x. Returns the first sample that is not finite, or whose outputs are not, or `count`.
  std::size_t encode(const float* x, std::size_t count, Scratch& scratch, std::uint8_t* codes) const;

 private:
  template <class Functions>
  struct EncodersOf;
  template <class... Functions>
  struct EncodersOf<std::variant<Functions...>> {
    using Type = std::variant<typename FormOf<Functions>::Encoder...>;
  };
  using Encoders = EncodersOf<HashFunction>::Type;
  static Encoders make(const HashFunction& function);
  // The input of the hash function: x, or the reduced x in `scratch`.
  const float* inputs(const float* x, std::size_t count, Scratch& scratch) const;

  PackedMatrix<float> reduction_;  // empty: none
  std::vector<float> reduction_bias_;
  Encoders encoder_;
  std::size_t dimension_;
  std::size_t bits_;
};

// The outputs for all vectors: bits() x x.size().
void outputs_of(const HashEncoder& encoder, const Vectors& x, Threads& threads, float* outputs);

}  // namespace bdnn
