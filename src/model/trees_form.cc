#include "model/trees_form.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "bdnn/codes.h"
#include "model/tree_sums.h"

namespace bdnn {
namespace {

using Form = FormOf<BoostedTrees>;

constexpr const char* kFeatures = "trees.features";
constexpr const char* kThresholds = "trees.thresholds";
constexpr const char* kLeaves = "trees.leaves";
constexpr const char* kDimension = "dimension";

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

// The first multiple of 64 bytes in a buffer with room for it.
float* aligned(std::vector<float>& buffer, std::size_t size) {
  constexpr std::size_t kFloats = 64 / sizeof(float);
  buffer.resize(size + kFloats);
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.data()) / sizeof(float);
  return buffer.data() + (kFloats - address % kFloats) % kFloats;
}

// Values of up to kTreeLanes vectors, by dimension; zeros in place of those that are missing.
void to_lanes(const float* x, std::size_t dimension, std::size_t count, float* lanes) {
  if (count < kTreeLanes) std::fill_n(lanes, dimension * kTreeLanes, 0.0F);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t d = 0; d < dimension; ++d) lanes[d * kTreeLanes + i] = x[i * dimension + d];
  }
}

}  // namespace

void Form::validate(const BoostedTrees& function) {
  if (function.bits == 0 || function.trees == 0) misuse("there are no boosted trees; train a model or load one");
  if (function.bits > kMaxBits || function.trees > kMaxTrees || function.depth < 1 || function.depth > kMaxDepth) {
    misuse(
        "{} boosted trees of depth {} for each of {} bits are not possible; at most {} are, of depth 1 to {}, for {} "
        "bits",
        function.trees, function.depth, function.bits, kMaxTrees, kMaxDepth, kMaxBits);
  }
  const std::size_t nodes = function.bits * function.trees * function.nodes();
  const std::size_t leaves = function.bits * function.trees * (function.nodes() + 1);
  if (function.features.size() != nodes || function.thresholds.size() != nodes || function.leaves.size() != leaves) {
    misuse("the boosted trees do not fit: {} features and {} thresholds for {} nodes, {} numbers for {} leaves",
           function.features.size(), function.thresholds.size(), nodes, function.leaves.size(), leaves);
  }
  if (function.dimension < 1 || function.dimension > kMaxDimension) {
    misuse("boosted trees take vectors of dimension 1 to {}, not {}", kMaxDimension, function.dimension);
  }
  const std::uint32_t largest = *std::max_element(function.features.begin(), function.features.end());
  if (largest >= function.dimension) {
    misuse("a boosted tree uses value {} of vectors of dimension {}", largest, function.dimension);
  }
  if (!all_finite(function.thresholds) || !all_finite(function.leaves)) {
    misuse("the boosted trees have an infinite or undefined number");
  }
}

std::vector<std::string> Form::describe(const BoostedTrees& function) {
  std::vector<std::string> lines;
  if (function.unit_inputs) lines.emplace_back(kUnitInputsInWords);
  lines.push_back(fmt::format("{} -> {}, each the sum of {} trees of depth {}", function.dimension, function.bits,
                              function.trees, function.depth));
  return lines;
}

void Form::write(const BoostedTrees& function, TensorFileWriter& writer) {
  writer.needs_version(4);
  writer.fact(kDimension, std::to_string(function.dimension));
  const std::vector<std::size_t> nodes = {function.bits, function.trees, function.nodes()};
  writer.tensor(kFeatures, function.features, nodes);
  writer.tensor(kThresholds, function.thresholds, nodes);
  writer.tensor(kLeaves, function.leaves, {function.bits, function.trees, function.nodes() + 1});
  write_unit_inputs(function.unit_inputs, writer);
}

BoostedTrees Form::read(const TensorFileReader& reader) {
  BoostedTrees function;
  function.dimension = reader.number(kDimension);
  std::vector<std::size_t> shape;
  function.leaves = reader.floats(kLeaves, 3, shape);
  function.bits = shape[0];
  function.trees = shape[1];
  while (function.depth < kMaxDepth && function.nodes() + 1 < shape[2]) ++function.depth;
  if (function.depth < 1 || function.nodes() + 1 != shape[2]) {
    reader.broken(fmt::format("has trees of {} leaves, where 2, 4, 8, ... or 256 are possible", shape[2]));
  }
  const std::vector<std::size_t> nodes = {function.bits, function.trees, function.nodes()};
  function.features = reader.numbers(kFeatures, 3, shape);
  bool fits = shape == nodes;
  function.thresholds = reader.floats(kThresholds, 3, shape);
  fits = fits && shape == nodes;
  if (!fits) reader.broken("has trees whose nodes do not fit their leaves");
  function.unit_inputs = read_unit_inputs(reader);
  return function;
}

Form::Encoder::Encoder(const BoostedTrees& function) : function_((validate(function), function)) {}

const float* Form::Encoder::outputs(const float* x, std::size_t count, EncoderScratch& scratch) const {
  const BoostedTrees& f = function_;
  if (f.unit_inputs) x = scaled_to_unit_length(x, f.dimension, count, scratch);
  float* lanes = aligned(scratch.lanes, f.dimension * kTreeLanes);
  auto& h = scratch.layer[0];
  h.resize(f.bits * count);
  alignas(64) float sums[kTreeLanes];
  for (std::size_t first = 0; first < count; first += kTreeLanes) {
    const std::size_t together = std::min(kTreeLanes, count - first);
    to_lanes(x + first * f.dimension, f.dimension, together, lanes);
    for (std::size_t bit = 0; bit < f.bits; ++bit) {
      const std::size_t nodes = bit * f.trees * f.nodes();
      sum_trees({f.features.data() + nodes, f.thresholds.data() + nodes,
                 f.leaves.data() + bit * f.trees * (f.nodes() + 1), f.trees, f.depth},
                lanes, sums);
      for (std::size_t i = 0; i < together; ++i) h[(first + i) * f.bits + bit] = sums[i];
    }
  }
  return h.data();
}

std::size_t Form::Encoder::encode(const float* x, std::size_t count, EncoderScratch& scratch,
                                  std::uint8_t* codes) const {
  return encode_signs(*this, x, function_.dimension, function_.bits, count, /*squashed=*/true, scratch, codes);
}

}  // namespace bdnn
