#include "model/anchor_form.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "linalg/activation.h"

namespace bdnn {
namespace {

using Form = FormOf<AnchorNetwork>;
using Kernel = AnchorNetwork::Kernel;

constexpr const char* kAnchors = "anchors";

float squared_norm(const float* x, std::size_t size) {
  double sum = 0;
  for (std::size_t k = 0; k < size; ++k) sum += static_cast<double>(x[k]) * static_cast<double>(x[k]);
  return static_cast<float>(sum);
}

}  // namespace

std::string_view name_of(Kernel kernel) { return kernel == Kernel::distance ? "distance" : "gaussian"; }

void Form::validate(const AnchorNetwork& function) {
  if (function.dimension == 0 || function.anchors.empty() || function.anchors.size() % function.dimension != 0) {
    misuse("the anchors do not fit: {} numbers for anchors of dimension {}", function.anchors.size(),
           function.dimension);
  }
  if (!std::isfinite(function.gamma) || function.gamma <= 0) {
    misuse("the Gaussian's gamma is {}; it must be positive", function.gamma);
  }
  FormOf<Network>::validate(function.network);
  if (function.network.unit_inputs) misuse("the network behind anchors cannot scale its own inputs to unit length");
  if (FormOf<Network>::dimension(function.network) != function.anchor_count()) {
    misuse("the network behind {} anchors takes {} inputs", function.anchor_count(),
           FormOf<Network>::dimension(function.network));
  }
}

std::vector<std::string> Form::describe(const AnchorNetwork& function) {
  const std::string kernel = function.kernel == Kernel::distance
                                 ? "distances"
                                 : fmt::format("Gaussians of distances, gamma {:.6g}", function.gamma);
  std::vector<std::string> lines;
  if (function.unit_inputs) lines.emplace_back(kUnitInputsInWords);
  lines.push_back(fmt::format("{} -> {} anchors, {}", function.dimension, function.anchor_count(), kernel));
  for (std::string& line : FormOf<Network>::describe(function.network)) lines.push_back(std::move(line));
  return lines;
}

void Form::write(const AnchorNetwork& function, TensorFileWriter& writer) {
  writer.tensor(kAnchors, function.anchors, {function.anchor_count(), function.dimension});
  writer.fact("kernel", std::string(name_of(function.kernel)));
  writer.fact("gamma", fmt::format("{}", function.gamma));  // the shortest digits that read back as the same number
  FormOf<Network>::write(function.network, writer);
  write_unit_inputs(function.unit_inputs, writer);
}

AnchorNetwork Form::read(const TensorFileReader& reader) {
  AnchorNetwork function;
  std::vector<std::size_t> shape;
  function.anchors = reader.floats(kAnchors, 2, shape);
  function.dimension = shape[1];
  const std::string kernel = reader.fact("kernel");
  if (kernel != name_of(Kernel::distance) && kernel != name_of(Kernel::gaussian)) {
    reader.broken(fmt::format("has the kernel '{}', which this program does not know", kernel));
  }
  function.kernel = kernel == name_of(Kernel::distance) ? Kernel::distance : Kernel::gaussian;
  function.gamma = reader.real("gamma");
  if (function.gamma <= 0) reader.broken("has a gamma that is not positive");
  function.network = FormOf<Network>::read(reader);
  function.unit_inputs = std::exchange(function.network.unit_inputs, false);  // the vectors are scaled, not the kernel
  if (FormOf<Network>::dimension(function.network) != function.anchor_count()) {
    reader.broken("has a network that does not fit its anchors");
  }
  return function;
}

AnchorKernel::AnchorKernel(const AnchorNetwork& function)
    : kernel_(function.kernel), unit_inputs_(function.unit_inputs), gamma_(function.gamma) {
  const std::size_t dimension = function.dimension;
  const std::size_t count = function.anchor_count();
  centre_.resize(dimension);
  for (std::size_t k = 0; k < dimension; ++k) {
    double sum = 0;
    for (std::size_t j = 0; j < count; ++j) sum += static_cast<double>(function.anchors[j * dimension + k]);
    centre_[k] = static_cast<float>(sum / static_cast<double>(count));
  }
  std::vector<float> centred = function.anchors;
  for (std::size_t j = 0; j < count; ++j) {
    float* anchor = centred.data() + j * dimension;
    for (std::size_t k = 0; k < dimension; ++k) anchor[k] -= centre_[k];
    squared_norms_.push_back(squared_norm(anchor, dimension));
  }
  anchors_ = PackedMatrix<float>::from_rows(centred.data(), count, dimension, dimension);
}

float* AnchorKernel::features(const float* x, std::size_t count, EncoderScratch& scratch) const {
  const std::size_t dimension = centre_.size();
  const std::size_t anchors = squared_norms_.size();
  if (unit_inputs_) x = scaled_to_unit_length(x, dimension, count, scratch);
  scratch.centred.resize(dimension * count);
  scratch.norms.resize(count);
  scratch.kernel.resize(anchors * count);
  for (std::size_t i = 0; i < count; ++i) {
    float* own = scratch.centred.data() + i * dimension;
    for (std::size_t k = 0; k < dimension; ++k) own[k] = x[i * dimension + k] - centre_[k];
    scratch.norms[i] = squared_norm(own, dimension);
  }
  multiply(anchors_, scratch.centred.data(), count, dimension, scratch.kernel.data(), anchors);
  if (kernel_ == Kernel::distance) {
    products_to_distances(squared_norms_.data(), scratch.norms.data(), anchors, count, scratch.kernel.data());
  } else {
    products_to_gaussians(squared_norms_.data(), scratch.norms.data(), gamma_, anchors, count, scratch.kernel.data());
  }
  return scratch.kernel.data();
}

Form::Encoder::Encoder(const AnchorNetwork& function)
    : kernel_((validate(function), function)), bits_(bits(function)), network_(function.network) {}

const float* Form::Encoder::outputs(const float* x, std::size_t count, EncoderScratch& scratch) const {
  return network_.outputs(kernel_.features(x, count, scratch), count, scratch);
}

std::size_t Form::Encoder::encode(const float* x, std::size_t count, EncoderScratch& scratch,
                                  std::uint8_t* codes) const {
  return encode_signs(*this, x, kernel_.dimension(), bits_, count, /*squashed=*/true, scratch, codes);
}

}  // namespace bdnn
