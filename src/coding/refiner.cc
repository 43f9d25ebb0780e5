#include "coding/refiner.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "codes/hamming.h"
#include "coding/column_sums.h"
#include "coding/group_columns.h"
#include "linalg/activation.h"
#include "linalg/decompose.h"
#include "model/hash_function.h"

namespace bdnn {
namespace {

constexpr int kSweeps = 1000;  // far more than any descent takes
constexpr int kMaxRounds = 1000000;

int checked_rounds(int rounds) {
  if (rounds < 0 || rounds > kMaxRounds) {
    misuse("{} rounds of local search are not possible; ask for 0 to {}", rounds, kMaxRounds);
  }
  return rounds;
}

}  // namespace

const Decoder& decoder_of(const Model& model) {
  validate(model);
  if (!model.decoder) misuse("the model has no decoder to rebuild vectors with; train one that has");
  return *model.decoder;
}

DecoderView::DecoderView(const Model& model) : groups_(model.bits(), decoder_of(model).group), c_(model.decoder->bias) {
  const Decoder& decoder = *model.decoder;
  w_ = view(decoder.weight.data(), decoder.inputs, decoder.outputs).transpose();
  if (grouped()) {
    w_ = columns_of_values(w_, groups_);
  } else {
    packed_ = PackedMatrix<float>::from_columns(w_.data(), decoder.outputs, decoder.inputs, decoder.outputs);
  }
  transposed_ = PackedMatrix<float>::from_rows(w_.data(), static_cast<std::size_t>(w_.cols()), c_.size(), c_.size());
}

MatrixXd DecoderView::gram() const { return small_gram(w_.cast<double>()); }

void DecoderView::project(const float* x, std::size_t count, std::vector<float>& centred, float* q) const {
  const std::size_t dimension = c_.size();
  centred.resize(dimension * count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < dimension; ++k) centred[i * dimension + k] = x[i * dimension + k] - c_[k];
  }
  multiply(transposed_, centred.data(), count, dimension, q, transposed_.rows());
}

void DecoderView::add_columns(const std::uint8_t* code, float* x) const {
  const std::size_t dimension = c_.size();
  for (std::size_t g = 0; g < groups_.count(); ++g) {
    const float* column = w_.data() + (groups_.first_column(g) + groups_.value(code, g)) * dimension;
    for (std::size_t k = 0; k < dimension; ++k) x[k] += column[k];
  }
}

void DecoderView::group_norms(const std::uint8_t* codes, std::size_t count, double* norms) const {
  static_assert(BitGroups::kMostColumns >> 4 == 512);
  std::array<const float*, 512> chosen;  // one per group, of which there are at most 512
  for (std::size_t i = 0; i < count; ++i, codes += bytes_for_bits(groups_.bits())) {
    for (std::size_t g = 0; g < groups_.count(); ++g) {
      chosen[g] = w_.data() + (groups_.first_column(g) + groups_.value(codes, g)) * c_.size();
    }
    norms[i] = norm_of_sum(chosen.data(), groups_.count(), c_.size());
  }
}

void DecoderView::rebuild(const std::uint8_t* codes, std::size_t count, std::vector<float>& b, float* x) const {
  const std::size_t dimension = c_.size();
  if (grouped()) {
    std::fill_n(x, dimension * count, 0.0F);
    for (std::size_t i = 0; i < count; ++i) add_columns(codes + i * bytes_for_bits(groups_.bits()), x + i * dimension);
  } else {
    b.resize(groups_.bits() * count);
    unpack_signs(codes, groups_.bits(), count, b.data());
    multiply(packed_, b.data(), count, groups_.bits(), x, dimension);
  }
  add_bias(c_.data(), dimension, count, x);
}

Refiner::Refiner(const Model& model, int local_search) : bits_(model.bits()), view_(model) {
  if (view_.grouped()) {
    group_descent_.emplace(view_.groups(), view_.columns(), kSweeps, checked_rounds(local_search));
  } else {
    bit_descent_.emplace(view_.gram(), kSweeps, checked_rounds(local_search));
  }
}

void Refiner::refine(const float* x, std::size_t count, Scratch& scratch, std::uint8_t* codes) const {
  if (group_descent_) return refine_groups(x, count, scratch, codes);
  scratch.q.resize(bits_ * count);
  scratch.b.resize(bits_ * count);
  view_.project(x, count, scratch.centred, scratch.q.data());
  unpack_signs(codes, bits_, count, scratch.b.data());
  bit_descent_->run(scratch.q.data(), count, scratch.b.data(), scratch.bit_descent);
  pack_signs(scratch.b.data(), bits_, count, codes);
}

void Refiner::refine_groups(const float* x, std::size_t count, Scratch& scratch, std::uint8_t* codes) const {
  const std::size_t columns = view_.groups().columns();
  scratch.q.resize(columns * std::min(count, kSamplesPerGroupTile));
  for (std::size_t i = 0; i < count; i += kSamplesPerGroupTile) {
    const std::size_t n = std::min(kSamplesPerGroupTile, count - i);
    view_.project(x + i * static_cast<std::size_t>(view_.columns().rows()), n, scratch.centred, scratch.q.data());
    group_descent_->run(scratch.q.data(), n, codes + i * bytes_for_bits(bits_), scratch.group_descent);
  }
}

}  // namespace bdnn
