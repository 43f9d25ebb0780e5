// The interface of a form of hash function. To add one:
//   1. its parameters: a struct in bdnn/model.h, named in HashFunction, with a member unit_inputs;
//   2. its header and source here: a specialisation of FormOf with the members below;
//   3. that header's name in model/hash_function.h.
// Everything else goes through std::visit in model/hash_function.cc, and the compiler names what is missing.
//
//     template <>
//     struct FormOf<Network> {
//       static constexpr std::string_view kName = "network";            // in model files
//       static std::size_t dimension(const Network&);                   // of its input vectors
//       static std::size_t bits(const Network&);                        // of its codes
//       static void validate(const Network&);                           // raises Error if it is inconsistent
//       static std::vector<std::string> describe(const Network&);       // in words, a line per part
//       static void write(const Network&, TensorFileWriter&);
//       static Network read(const TensorFileReader&);                   // damaged content raises Error
//       class Encoder {                                                 // made ready to run; shared by all threads
//        public:
//         static constexpr bool kHasOutputs = true;                     // before the sign
//         // Where kHasOutputs is false, in place of outputs(): what its codes are instead of signs, for messages.
//         //   static constexpr std::string_view kCodes = "indices of codewords";
//         explicit Encoder(const Network&);
//         const float* outputs(const float* x, std::size_t count, EncoderScratch&) const;
//         std::size_t encode(const float* x, std::size_t count, EncoderScratch&, std::uint8_t* codes) const;
//       };
//     };
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bdnn/model.h"
#include "codes/hamming.h"
#include "model/tensor_file.h"

namespace bdnn {

template <class Function>
struct FormOf;

// Working memory of encoders for one tile of samples; each thread has its own.
struct EncoderScratch {
  std::vector<float> reduced;
  std::vector<float> layer[2];
  std::vector<float> centred;
  std::vector<float> kernel;
  std::vector<float> norms;
  std::vector<float> unit;
  std::vector<float> lanes;
  std::vector<std::uint8_t> indices;
};

// `count` vectors of `dimension` floats, each divided by its length; zero stays zero.
void scale_to_unit_length(const float* x, std::size_t dimension, std::size_t count, float* unit);
// The same into `scratch`.
const float* scaled_to_unit_length(const float* x, std::size_t dimension, std::size_t count, EncoderScratch& scratch);

// Writes to a form's file whether its vectors are scaled first, and reads it back.
void write_unit_inputs(bool unit_inputs, TensorFileWriter& writer);
bool read_unit_inputs(const TensorFileReader& reader);
constexpr const char* kUnitInputsInWords = "inputs scaled to unit length";

// The first of `count` vectors of `size` floats each that is not finite, or `count`.
std::size_t first_not_finite(const float* values, std::size_t size, std::size_t count);

// Encodes by the signs of the outputs. Returns the first sample with an input or output that is not finite, or `count`.
// `squashed`: some function on the way may turn values that are not finite into finite ones.
template <class Encoder>
std::size_t encode_signs(const Encoder& encoder, const float* x, std::size_t dimension, std::size_t bits,
                         std::size_t count, bool squashed, EncoderScratch& scratch, std::uint8_t* codes) {
  if (squashed) {
    const std::size_t bad = first_not_finite(x, dimension, count);
    if (bad < count) return bad;
  }
  const float* h = encoder.outputs(x, count, scratch);
  return pack_signs(h, bits, count, codes) ? count : first_not_finite(h, bits, count);
}

}  // namespace bdnn
