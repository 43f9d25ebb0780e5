#include "model/hash_function.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "bdnn/codes.h"
#include "codes/bit_groups.h"
#include "data/tiles.h"
#include "linalg/activation.h"

namespace bdnn {
namespace {

constexpr const char* kReduction = "reduction";

// The form of a function, by a value of its type.
template <class Function>
FormOf<Function> form_of(const Function&) {
  return {};
}

std::size_t dimension_of(const HashFunction& function) {
  return std::visit([](const auto& f) { return form_of(f).dimension(f); }, function);
}

void validate_reduction(const Layer& reduction, std::size_t outputs) {
  if (reduction.outputs != outputs || reduction.inputs == 0 ||
      reduction.weight.size() != reduction.inputs * reduction.outputs || reduction.bias.size() != reduction.outputs ||
      reduction.activation != Activation::identity) {
    misuse(
        "the reduction does not fit: {} inputs, {} outputs, {} weights, {} biases, {}, before a hash function of {} "
        "inputs",
        reduction.inputs, reduction.outputs, reduction.weight.size(), reduction.bias.size(),
        name_of(reduction.activation), outputs);
  }
}

// Reads the form among those from `I` on that has this name.
template <std::size_t I = 0>
HashFunction read_form(const std::string& name, const TensorFileReader& reader, const std::string& passed = "") {
  if constexpr (I < std::variant_size_v<HashFunction>) {
    using Form = FormOf<std::variant_alternative_t<I, HashFunction>>;
    if (name == Form::kName) return Form::read(reader);
    return read_form<I + 1>(name, reader, fmt::format("{}{}'{}'", passed, passed.empty() ? "" : ", ", Form::kName));
  } else {
    reader.broken(fmt::format("has the form '{}'; this program knows {}", name, passed));
  }
}

}  // namespace

std::size_t first_not_finite(const float* values, std::size_t size, std::size_t count) {
  const float* end = values + size * count;
  const float* bad = std::find_if(values, end, [](float v) { return !std::isfinite(v); });
  return bad == end ? count : static_cast<std::size_t>(bad - values) / size;
}

void scale_to_unit_length(const float* x, std::size_t dimension, std::size_t count, float* unit) {
  for (std::size_t i = 0; i < count; ++i, x += dimension, unit += dimension) {
    double squares = 0;
    for (std::size_t k = 0; k < dimension; ++k) squares += static_cast<double>(x[k]) * static_cast<double>(x[k]);
    const double factor = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (std::size_t k = 0; k < dimension; ++k) unit[k] = static_cast<float>(static_cast<double>(x[k]) * factor);
  }
}

const float* scaled_to_unit_length(const float* x, std::size_t dimension, std::size_t count, EncoderScratch& scratch) {
  scratch.unit.resize(dimension * count);
  scale_to_unit_length(x, dimension, count, scratch.unit.data());
  return scratch.unit.data();
}

void write_unit_inputs(bool unit_inputs, TensorFileWriter& writer) {
  if (!unit_inputs) return;
  writer.needs_version(2);
  writer.fact("inputs", "unit");
}

bool read_unit_inputs(const TensorFileReader& reader) {
  const auto inputs = reader.find_fact("inputs");
  if (inputs && *inputs != "unit") reader.broken("scales its inputs in a way unknown to this program");
  return inputs.has_value();
}

std::size_t Model::dimension() const {
  if (reduction) return reduction->inputs;
  return std::visit([](const auto& f) { return form_of(f).dimension(f); }, function);
}

std::size_t Model::bits() const {
  return std::visit([](const auto& f) { return form_of(f).bits(f); }, function);
}

bool Model::has_outputs() const {
  return std::visit([](const auto& f) { return decltype(form_of(f))::Encoder::kHasOutputs; }, function);
}

std::vector<std::string> Model::describe() const {
  auto lines = std::visit([](const auto& f) { return form_of(f).describe(f); }, function);
  if (reduction) {
    lines.insert(lines.begin(), fmt::format("{} -> {} principal components", reduction->inputs, reduction->outputs));
  }
  return lines;
}

void scale_inputs_to_unit_length(HashFunction& function) {
  std::visit([](auto& f) { f.unit_inputs = true; }, function);
}

void validate(const HashFunction& function) {
  std::visit([](const auto& f) { form_of(f).validate(f); }, function);
}

void validate(const Model& model) {
  validate(model.function);
  if (model.reduction) validate_reduction(*model.reduction, dimension_of(model.function));
  if (!model.decoder) return;
  const Decoder& decoder = *model.decoder;
  if (!BitGroups::is_possible(model.bits(), decoder.group)) {
    misuse("the decoder takes {} bits in groups of {}; 1 is possible, 4 up to 2,048 bits, and 8 up to 256 bits",
           model.bits(), decoder.group);
  }
  if (decoder.inputs != BitGroups(model.bits(), decoder.group).features() || decoder.outputs != model.dimension() ||
      decoder.weight.size() != decoder.inputs * decoder.outputs || decoder.bias.size() != decoder.outputs) {
    misuse(
        "the decoder does not fit: {} inputs, {} outputs, {} weights, {} biases, for codes of {} bits in groups of {} "
        "and vectors of dimension {}",
        decoder.inputs, decoder.outputs, decoder.weight.size(), decoder.bias.size(), model.bits(), decoder.group,
        model.dimension());
  }
}

void write_function(const HashFunction& function, TensorFileWriter& writer) {
  std::visit(
      [&](const auto& f) {
        writer.fact("form", std::string(form_of(f).kName));
        form_of(f).write(f, writer);
      },
      function);
}

HashFunction read_function(const TensorFileReader& reader) {
  HashFunction function = read_form(reader.fact("form"), reader);
  if (std::visit([](const auto& f) { return form_of(f).bits(f); }, function) > kMaxBits) {
    reader.broken(fmt::format("gives codes of more than {} bits", kMaxBits));
  }
  try {
    validate(function);
  } catch (const Error& error) {
    reader.broken(fmt::format("has a hash function that cannot be used: {}", error.what()));
  }
  return function;
}

void write_reduction(const Layer& reduction, TensorFileWriter& writer) {
  writer.needs_version(5);
  write_layer(writer, kReduction, reduction);
}

std::optional<Layer> read_reduction(const TensorFileReader& reader, std::size_t outputs) {
  if (!reader.has_tensor(std::string(kReduction) + ".weight")) return std::nullopt;
  Layer reduction = read_layer(reader, kReduction);
  if (reduction.outputs != outputs || reduction.inputs == 0) {
    reader.broken("has a reduction that does not fit its hash function");
  }
  return reduction;
}

HashEncoder::Encoders HashEncoder::make(const HashFunction& function) {
  return std::visit(
      [](const auto& f) { return Encoders(std::in_place_type<typename decltype(form_of(f))::Encoder>, f); }, function);
}

HashEncoder::HashEncoder(const HashFunction& function)
    : encoder_(make(function)),
      dimension_(dimension_of(function)),
      bits_(std::visit([](const auto& f) { return form_of(f).bits(f); }, function)) {}

HashEncoder::HashEncoder(const Model& model) : HashEncoder(model.function) {
  if (!model.reduction) return;
  const Layer& reduction = *model.reduction;
  validate_reduction(reduction, dimension_);
  reduction_ =
      PackedMatrix<float>::from_rows(reduction.weight.data(), reduction.outputs, reduction.inputs, reduction.inputs);
  reduction_bias_ = reduction.bias;
  dimension_ = reduction.inputs;
}

const float* HashEncoder::inputs(const float* x, std::size_t count, Scratch& scratch) const {
  if (reduction_bias_.empty()) return x;
  const std::size_t rows = reduction_bias_.size();
  scratch.reduced.resize(rows * count);
  multiply(reduction_, x, count, reduction_.depth(), scratch.reduced.data(), rows);
  add_bias(reduction_bias_.data(), rows, count, scratch.reduced.data());
  return scratch.reduced.data();
}

bool HashEncoder::has_outputs() const {
  return std::visit([](const auto& encoder) { return encoder.kHasOutputs; }, encoder_);
}

const float* HashEncoder::outputs(const float* x, std::size_t count, Scratch& scratch) const {
  x = inputs(x, count, scratch);
  return std::visit(
      [&](const auto& encoder) -> const float* {
        using Encoder = std::decay_t<decltype(encoder)>;
        if constexpr (Encoder::kHasOutputs) {
          return encoder.outputs(x, count, scratch);
        } else {
          misuse("the model's hash function has no outputs before the sign; its codes are {}", Encoder::kCodes);
        }
      },
      encoder_);
}

std::size_t HashEncoder::encode(const float* x, std::size_t count, Scratch& scratch, std::uint8_t* codes) const {
  x = inputs(x, count, scratch);
  return std::visit([&](const auto& encoder) { return encoder.encode(x, count, scratch, codes); }, encoder_);
}

void outputs_of(const HashEncoder& encoder, const Vectors& x, Threads& threads, float* outputs) {
  std::vector<HashEncoder::Scratch> scratch(static_cast<std::size_t>(threads.count()));
  for_each_tile_of(x, threads, [&](std::size_t first, std::size_t count, const float* samples, std::size_t worker) {
    const float* h = encoder.outputs(samples, count, scratch[worker]);
    std::copy_n(h, count * encoder.bits(), outputs + first * encoder.bits());
  });
}

}  // namespace bdnn
