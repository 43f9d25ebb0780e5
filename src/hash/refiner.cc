#include "hash/refiner.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "codes/hamming.h"
#include "hash/encoder.h"

namespace bdnn {
namespace {

constexpr int kSweeps = 1000;  // far more than any descent takes
constexpr int kMaxRounds = 1000000;

int checked_rounds(int rounds) {
  if (rounds < 0 || rounds > kMaxRounds) {
    misuse("{} rounds of local search were asked for; 0 to {} are possible", rounds, kMaxRounds);
  }
  return rounds;
}

}  // namespace

const Layer& decoder_of(const Model& model) {
  validate(model);
  if (!model.decoder) misuse("the model has no decoder, which vectors are rebuilt with; train it without --no-decoder");
  return *model.decoder;
}

DecoderView::DecoderView(const Layer& decoder)
    : c_(decoder.bias),
      transposed_(
          PackedMatrix<float>::from_columns(decoder.weight.data(), decoder.inputs, decoder.outputs, decoder.inputs)) {
  const MatrixXd w = view(decoder.weight.data(), decoder.inputs, decoder.outputs).cast<double>();  // W^T
  gram_ = w * w.transpose();
}

void DecoderView::project(const float* x, std::size_t count, std::vector<float>& centred, float* q) const {
  const std::size_t dimension = c_.size();
  centred.resize(dimension * count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < dimension; ++k) centred[i * dimension + k] = x[i * dimension + k] - c_[k];
  }
  multiply(transposed_, centred.data(), count, dimension, q, transposed_.rows());
}

Refiner::Refiner(const Model& model, int local_search)
    : bits_(model.bits()), view_(decoder_of(model)), descent_(view_.gram(), kSweeps, checked_rounds(local_search)) {}

void Refiner::refine(const float* x, std::size_t count, Scratch& scratch, std::uint8_t* codes) const {
  scratch.q.resize(bits_ * count);
  scratch.b.resize(bits_ * count);
  view_.project(x, count, scratch.centred, scratch.q.data());
  unpack_codes(codes, bits_, count, scratch.b.data());
  descent_.run(scratch.q.data(), count, scratch.b.data());
  pack_signs(scratch.b.data(), bits_, count, codes);
}

void unpack_codes(const std::uint8_t* codes, std::size_t bits, std::size_t count, float* b) {
  static const auto kOfByte = [] {
    std::array<std::array<float, 8>, 256> all;
    for (unsigned byte = 0; byte < 256; ++byte) {
      for (unsigned k = 0; k < 8; ++k) all[byte][k] = (byte >> k & 1U) != 0 ? 1.0F : -1.0F;
    }
    return all;
  }();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < bits; k += 8) {
      std::copy_n(kOfByte[*codes++].data(), std::min<std::size_t>(8, bits - k), b + i * bits + k);
    }
  }
}

}  // namespace bdnn
