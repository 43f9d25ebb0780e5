#include "methods/uh_bdnn/reconstruction_term.h"

#include <algorithm>

#include "base/error.h"
#include "coding/code_descent.h"
#include "coding/group_columns.h"
#include "coding/group_descent.h"
#include "linalg/activation.h"
#include "linalg/decompose.h"

namespace bdnn {
namespace {

void unpack(const TargetCodes& codes, std::size_t first, std::size_t count, float* b) {
  for (std::size_t i = 0; i < count; ++i) codes.unpack(first + i, b + i * codes.bits());
}

}  // namespace

Reconstruction::Reconstruction(std::size_t bits, std::size_t dimension, const ReconstructionOptions& options,
                               Threads& threads)
    : bits_(bits), dimension_(dimension), groups_(bits, options.group), options_(options), threads_(threads) {}

void Reconstruction::fit(const RidgeSums& sums) {
  decoder_ = fit_ridge(sums, options_.decay);
  // Rounded as in a checkpoint, so that a resumed training computes with the same number.
  error_ = static_cast<double>(static_cast<float>(mean_squared_error(sums, decoder_)));
}

void Reconstruction::start(const TrainingSet& set, TargetCodes& codes) {
  fit(sums_over(set, bits_, dimension_, threads_,
                [&](RidgePartialSums& partial, std::size_t first, std::size_t count, const float* x) {
                  std::vector<float> b(bits_ * count);
                  unpack(codes, first, count, b.data());
                  partial.add(x, b.data(), count);
                }));
}

// A decoder by groups starts from the codes of a linear one, whose bits have a meaning of their own.
int Reconstruction::linear_rounds() const {
  return options_.group == 1 ? options_.code_rounds : options_.code_rounds / 4;
}

// By groups, one round more: the first decoder by groups is fitted to the codes of the linear one.
int Reconstruction::start_rounds() const { return options_.code_rounds + (options_.group == 1 ? 0 : 1); }

void Reconstruction::start_round(int round, const TrainingSet& set, TargetCodes& codes) {
  const Pull keep = [&](const float*, std::size_t first, std::size_t count, float*, float* b) {
    unpack(codes, first, count, b);
  };
  if (round < linear_rounds()) return improve_bits(set, codes, keep);
  if (round > linear_rounds()) return improve_groups(set, codes, keep);
  GroupSums sums(groups_, dimension_);
  add_sums_over(set, GroupPartialSums(groups_, dimension_), sums, threads_,
                [&](GroupPartialSums& partial, std::size_t first, std::size_t count, const float* x) {
                  partial.add(x, codes.bytes().data() + first * codes.stride(), count);
                });
  fit(sums.of_features());
}

void Reconstruction::improve(const LayerSizes& sizes, const TrainingSet& set, std::vector<float>& parameters,
                             TargetCodes& codes) {
  const LayerStack<float> stack(sizes, parameters.data());
  const auto lambda2 = static_cast<float>(options_.lambda2);
  const Pull outputs = [&](const float* x, std::size_t, std::size_t count, float* q, float* b) {
    std::vector<std::vector<float>> layers(sizes.count());
    std::vector<float*> pointers;
    for (std::size_t l = 0; l < sizes.count(); ++l) {
      layers[l].resize(count * sizes.outputs(l));
      pointers.push_back(layers[l].data());
    }
    stack.forward(x, count, pointers);
    const std::vector<float>& h = layers.back();
    for (std::size_t i = 0; i < h.size(); ++i) {
      q[i] += lambda2 * h[i];
      b[i] = options_.start == CodeStart::zero ? 0.0F : sign_of(h[i]);
    }
  };
  options_.group == 1 ? improve_bits(set, codes, outputs) : improve_groups(set, codes, outputs);
}

void Reconstruction::improve_bits(const TrainingSet& set, TargetCodes& codes, const Pull& pull) {
  const MatrixXd w = decoder_.w.cast<double>();
  const CodeDescent descent(small_gram(w), options_.sweeps, options_.local_search);
  const auto transposed = PackedMatrix<float>::from_rows(decoder_.w.data(), bits_, dimension_, dimension_);
  const VectorXf shift = -(w.transpose() * decoder_.c.cast<double>()).cast<float>();
  fit(sums_over(set, bits_, dimension_, threads_,
                [&](RidgePartialSums& partial, std::size_t first, std::size_t count, const float* x) {
                  // q = W^T (x - c) + lambda2 h
                  std::vector<float> q(bits_ * count);
                  std::vector<float> b(bits_ * count);
                  multiply(transposed, x, count, dimension_, q.data(), bits_);
                  add_bias(shift.data(), bits_, count, q.data());
                  pull(x, first, count, q.data(), b.data());
                  descent.run(q.data(), count, b.data());
                  codes.pack(first, count, b.data());
                  partial.add(x, b.data(), count);
                }));
}

void Reconstruction::improve_groups(const TrainingSet& set, TargetCodes& codes, const Pull& pull) {
  const MatrixXf columns = columns_of_values(decoder_.w, groups_);
  const GroupDescent descent(groups_, columns, options_.sweeps, options_.local_search);
  const auto transposed = PackedMatrix<float>::from_rows(columns.data(), groups_.columns(), dimension_, dimension_);
  const VectorXf shift = -(columns.transpose() * decoder_.c);
  GroupSums sums(groups_, dimension_);
  add_sums_over(set, GroupPartialSums(groups_, dimension_), sums, threads_,
                [&](GroupPartialSums& partial, std::size_t first, std::size_t count, const float* x) {
                  std::vector<float> p(bits_ * count);
                  std::vector<float> b(bits_ * count);
                  pull(x, first, count, p.data(), b.data());
                  codes.pack(first, count, b.data());
                  // q = W^T (x - c) + lambda2 h^T b, for the W of all values
                  std::vector<float> q(groups_.columns() * std::min(count, kSamplesPerGroupTile));
                  for (std::size_t i = 0; i < count; i += kSamplesPerGroupTile) {
                    const std::size_t n = std::min(kSamplesPerGroupTile, count - i);
                    multiply(transposed, x + i * dimension_, n, dimension_, q.data(), groups_.columns());
                    add_bias(shift.data(), groups_.columns(), n, q.data());
                    add_bit_sums(groups_, p.data() + i * bits_, n, q.data());
                    descent.run(q.data(), n, codes.bytes().data() + (first + i) * codes.stride());
                  }
                  partial.add(x, codes.bytes().data() + first * codes.stride(), count);
                });
  fit(sums.of_features());
}

std::vector<float> Reconstruction::state() const {
  std::vector<float> values(decoder_.w.data(), decoder_.w.data() + decoder_.w.size());
  values.insert(values.end(), decoder_.c.begin(), decoder_.c.end());
  values.push_back(static_cast<float>(error_));
  return values;
}

void Reconstruction::restore(const std::vector<float>& state, int start_rounds) {
  // The first rounds have a linear decoder.
  const std::size_t features =
      start_rounds <= linear_rounds() && start_rounds < this->start_rounds() ? bits_ : groups_.features();
  if (state.size() != dimension_ * (features + 1) + 1) {
    failure("the checkpoint holds a decoder of {} numbers, not {}", state.size(), dimension_ * (features + 1) + 1);
  }
  const auto d = static_cast<Eigen::Index>(dimension_);
  decoder_.w = view(state.data(), dimension_, features);
  decoder_.c = Eigen::Map<const VectorXf>(state.data() + dimension_ * features, d);
  error_ = static_cast<double>(state.back());
}

}  // namespace bdnn
