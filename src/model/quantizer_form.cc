#include "model/quantizer_form.h"

#include <algorithm>

#include "base/error.h"
#include "bdnn/codes.h"
#include "linalg/activation.h"

namespace bdnn {
namespace {

using Form = FormOf<ProductQuantizer>;

constexpr const char* kProjection = "projection";

std::string codewords_name(std::size_t part) { return fmt::format("codewords.{}", part); }

// Index of the maximum; the first of equal ones.
std::uint8_t index_of_largest(const float* scores, std::size_t size) {
  return static_cast<std::uint8_t>(std::max_element(scores, scores + size) - scores);
}

}  // namespace

std::size_t Form::bits(const ProductQuantizer& function) {
  std::size_t bits = 0;
  for (const auto& part : function.parts) bits += part.bits;
  return bits;
}

void Form::validate(const ProductQuantizer& function) {
  const Layer& projection = function.projection;
  if (function.parts.empty()) misuse("the product quantizer has no parts; train a model or load one");
  if (projection.weight.empty() || projection.weight.size() != projection.inputs * projection.outputs ||
      projection.bias.size() != projection.outputs || projection.activation != Activation::identity) {
    misuse("the projection does not fit: {} inputs, {} outputs, {} weights, {} biases, {}", projection.inputs,
           projection.outputs, projection.weight.size(), projection.bias.size(), name_of(projection.activation));
  }
  std::size_t coordinates = 0;
  for (std::size_t i = 0; i < function.parts.size(); ++i) {
    const auto& part = function.parts[i];
    if (part.bits < 1 || part.bits > kMostPartBits || part.dimension < 1 || part.dimension > projection.outputs ||
        part.codewords.size() != part.dimension << part.bits) {
      misuse("part {} of the product quantizer does not fit: {} numbers for the codewords of {} bits, of dimension {}",
             i, part.codewords.size(), part.bits, part.dimension);
    }
    coordinates += part.dimension;
  }
  if (coordinates != projection.outputs) {
    misuse("the parts of the product quantizer have {} coordinates, its projection gives {}", coordinates,
           projection.outputs);
  }
}

std::vector<std::string> Form::describe(const ProductQuantizer& function) {
  std::vector<std::string> lines;
  if (function.unit_inputs) lines.emplace_back(kUnitInputsInWords);
  lines.push_back(fmt::format("{} -> {} identity", function.projection.inputs, function.projection.outputs));
  for (std::size_t first = 0; first < function.parts.size();) {
    const std::size_t bits = function.parts[first].bits;
    std::size_t end = first;
    while (end < function.parts.size() && function.parts[end].bits == bits) ++end;
    lines.push_back(fmt::format("{} subspace{}: the nearest of {} codewords, {} bit{}{}", end - first,
                                end - first == 1 ? "" : "s", std::size_t{1} << bits, bits, bits == 1 ? "" : "s",
                                end - first == 1 ? "" : " each"));
    first = end;
  }
  return lines;
}

void Form::write(const ProductQuantizer& function, TensorFileWriter& writer) {
  writer.needs_version(2);
  write_layer(writer, kProjection, function.projection);
  for (std::size_t i = 0; i < function.parts.size(); ++i) {
    const auto& part = function.parts[i];
    writer.tensor(codewords_name(i), part.codewords, {std::size_t{1} << part.bits, part.dimension});
  }
  write_unit_inputs(function.unit_inputs, writer);
}

ProductQuantizer Form::read(const TensorFileReader& reader) {
  ProductQuantizer function;
  function.projection = read_layer(reader, kProjection);
  std::size_t coordinates = 0;
  for (std::size_t i = 0; i == 0 || reader.has_tensor(codewords_name(i)); ++i) {
    ProductQuantizer::Part part;
    std::vector<std::size_t> shape;
    part.codewords = reader.floats(codewords_name(i), 2, shape);
    part.dimension = shape[1];
    while (part.bits < kMostPartBits && std::size_t{1} << part.bits < shape[0]) ++part.bits;
    if (part.bits < 1 || std::size_t{1} << part.bits != shape[0]) {
      reader.broken(fmt::format("has {} codewords in part {}, where 2, 4, 8, ... or 256 are possible", shape[0], i));
    }
    coordinates += part.dimension;
    if (coordinates > function.projection.outputs) break;  // stops before reading more than can be valid
    function.parts.push_back(std::move(part));
  }
  if (coordinates != function.projection.outputs) reader.broken("has codewords that do not fit its projection");
  function.unit_inputs = read_unit_inputs(reader);
  return function;
}

Form::Encoder::Encoder(const ProductQuantizer& function) : bits_(bits(function)), unit_inputs_(function.unit_inputs) {
  validate(function);
  const Layer& projection = function.projection;
  projection_ = PackedMatrix<float>::from_rows(projection.weight.data(), projection.outputs, projection.inputs,
                                               projection.inputs);
  bias_ = projection.bias;
  std::size_t coordinate = 0;
  std::size_t bit = 0;
  for (const auto& part : function.parts) {
    const std::size_t count = std::size_t{1} << part.bits;
    PackedPart packed{coordinate,
                      bit,
                      PackedMatrix<float>::from_rows(part.codewords.data(), count, part.dimension, part.dimension),
                      {}};
    for (std::size_t j = 0; j < count; ++j) {
      double squares = 0;
      for (std::size_t k = 0; k < part.dimension; ++k) {
        const double value = part.codewords[j * part.dimension + k];
        squares += value * value;
      }
      packed.offsets.push_back(static_cast<float>(-squares / 2));
    }
    parts_.push_back(std::move(packed));
    coordinate += part.dimension;
    bit += part.bits;
  }
}

const float* Form::Encoder::project(const float* x, std::size_t count, EncoderScratch& scratch) const {
  if (unit_inputs_) x = scaled_to_unit_length(x, projection_.depth(), count, scratch);
  auto& y = scratch.layer[0];
  y.resize(bias_.size() * count);
  multiply(projection_, x, count, projection_.depth(), y.data(), bias_.size());
  add_bias(bias_.data(), bias_.size(), count, y.data());
  return y.data();
}

std::size_t Form::Encoder::nearest(std::size_t part, const float* projected, std::size_t count, EncoderScratch& scratch,
                                   std::uint8_t* indices) const {
  const PackedPart& own = parts_[part];
  const std::size_t size = own.offsets.size();
  auto& scores = scratch.kernel;
  scores.resize(size * count);
  multiply(own.codewords, projected + own.first_coordinate, count, bias_.size(), scores.data(), size);
  add_bias(own.offsets.data(), size, count, scores.data());
  for (std::size_t i = 0; i < count; ++i) indices[i] = index_of_largest(scores.data() + i * size, size);
  return first_not_finite(scores.data(), size, count);
}

std::size_t Form::Encoder::encode(const float* x, std::size_t count, EncoderScratch& scratch,
                                  std::uint8_t* codes) const {
  // Scaling to unit length could make values that are not finite look finite.
  std::size_t bad = unit_inputs_ ? first_not_finite(x, projection_.depth(), count) : count;
  const float* projected = project(x, count, scratch);
  bad = std::min(bad, first_not_finite(projected, bias_.size(), count));
  const std::size_t bytes = bytes_for_bits(bits_);
  std::fill_n(codes, bytes * count, std::uint8_t{0});
  scratch.indices.resize(count);
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    bad = std::min(bad, nearest(part, projected, count, scratch, scratch.indices.data()));
    const std::size_t byte = parts_[part].first_bit / 8;
    const std::size_t shift = parts_[part].first_bit % 8;
    const bool two = byte + 1 < bytes;  // an index may reach into the next byte, but not beyond the code
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t value = static_cast<std::size_t>(scratch.indices[i]) << shift;
      std::uint8_t* code = codes + i * bytes + byte;
      code[0] = static_cast<std::uint8_t>(code[0] | value);
      if (two) code[1] = static_cast<std::uint8_t>(code[1] | value >> 8);
    }
  }
  return bad;
}

}  // namespace bdnn
