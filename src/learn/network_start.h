// The start of a binary network: its sizes, the scale of its inputs, its first weights.
#pragma once

#include <functional>
#include <string>

#include "base/blocks.h"
#include "learn/affine.h"
#include "learn/layers.h"
#include "learn/target_codes.h"
#include "learn/training_set.h"

namespace bdnn {

// The units of the hidden layers for codes of L bits from vectors of dimension D, and the rule they follow.
//   L <= 8: 90, 20; L = 16: 90, 30; L = 24: 100, 40; L = 32: 120, 50, as in the paper; in between, between these;
//   L > 32: 5 L / 2 + 40 and 5 L / 4 + 10; never more than D, nor fewer than L.
std::vector<std::size_t> default_hidden_units(std::size_t bits, std::size_t dimension);

// From "120,50"; any other text raises Error.
std::vector<std::size_t> parse_hidden_units(const std::string& text);

// A layer's inputs have no more eigenvectors than dimensions: raises Error if units grow from layer to layer, with the
// rule D >= s_2 >= ... >= L, or if there are too few samples.
void check_eigenvector_start(const LayerSizes& sizes, const Vectors& x);

// How samples are scaled: to the total variance `spread` about zero or, if that is 0, as the authors do, to the range
// [0, 1].
Scaling scaling_for(const Vectors& x, const Moments& moments, double spread, Threads& threads);

// The first weights are the leading eigenvectors of the covariance of each layer's inputs, in one of these ways.
enum class WeightStart {
  second_moment,  // of their second moment instead, as the authors do; biases of zero
  covariance,     // as the paper says; biases of zero
  whitened,       // also, from the second layer on, scaled and shifted to outputs of mean 0 and variance 1: no unit
                  // starts dead, and the codes start balanced and independent
  fitted,         // the same, and the last layer follows the first codes by regression
  random,         // random, for a network that starts from its linear path; its last layer is zero
  automatic,      // random with a linear path, else covariance
};
WeightStart weight_start_for(WeightStart way, bool linear_path);  // without `automatic`
std::vector<float> eigenvector_start(const LayerSizes& sizes, const TrainingSet& set, const Moments& moments,
                                     WeightStart way, Threads& threads);

// Random weights for `WeightStart::random`: the input of a hidden unit's activation has a variance of 4 and a random
// mean. `variance`: of all inputs together.
std::vector<float> random_start(const LayerSizes& sizes, double variance, std::uint64_t seed);

// The linear path, and the last biases, that follow the codes best without the hidden layers; the last layer's weights
// become zero. Solved for A with each of the decays; visit() receives the solutions.
void fit_linear_path(const LayerSizes& sizes, const TrainingSet& set, const TargetCodes& codes,
                     const std::vector<double>& decays, Threads& threads, const std::vector<float>& parameters,
                     const std::function<void(double decay, const std::vector<float>& parameters)>& visit);

// Sets the last layer to the one that follows the codes best over the hidden layers as they are: the minimum of
// 1/2m ||H - B||^2 + decay/2 ||W||^2, in closed form.
void fit_last_layer(const LayerSizes& sizes, const TrainingSet& set, const TargetCodes& codes, double decay,
                    Threads& threads, std::vector<float>& parameters);

}  // namespace bdnn
