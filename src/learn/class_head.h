// The code of a class, as the last layer of a network that tells classes apart.
//
//     s_k = sigmoid(beta (z_k - t)),   h = sum over classes k of s_k c_k
//
// z are scores of the classes and c_k the code of class k. Well below t a sigmoid is an exponential, so the class of
// the largest score outweighs the others, and sgn(h) is its code; where two scores are close, it is what their codes
// agree in. Samples of one class thus get the very same code, where bits that are predicted one by one differ here and
// there.
#pragma once

#include <span>

#include "base/threads.h"
#include "bdnn/model.h"
#include "learn/target_codes.h"
#include "learn/training_set.h"

namespace bdnn {

// The network whose outputs are z_k = c_k^T h / L, for the outputs h of `network`, which ends in an identity.
Network class_scores(const Network& network, const TargetCodes& class_codes);

// The ridge regression from the samples of a set to their classes, +1 for the own one and -1 for the others, for each
// decay: the networks whose outputs are its predictions for vectors as they are in the file. All samples have a class.
std::vector<Network> ridge_class_scores(const TrainingSet& set, std::span<const std::int32_t> class_of,
                                        std::size_t classes, const std::vector<double>& decays, Threads& threads);

// How many of the rows have the score of their own class as the largest; class_of[row] is the class of a row of x.
std::size_t count_right(const Network& scores, const Vectors& x, std::span<const std::uint32_t> rows,
                        std::span<const std::int32_t> class_of, Threads& threads);

// Of the decays, the one whose ridge regressions are right most often for samples that they were not fitted to: five
// folds of the rows, or of 10,000 random ones. All rows have a class.
double choose_ridge_decay(const Vectors& x, const Scaling& scaling, std::span<const std::uint32_t> rows,
                          std::span<const std::int32_t> class_of, std::size_t classes,
                          const std::vector<double>& decays, std::uint64_t seed, Threads& threads);

// The sum of two networks' scores; `affine` has one layer and takes the same inputs.
Network sum_of_scores(Network network, const Network& affine);

// Puts the head behind a network of class scores; beta and t follow from the range of the scores of these vectors.
Network with_class_head(Network scores, const TargetCodes& class_codes, const Vectors& x,
                        std::span<const std::uint32_t> rows);

}  // namespace bdnn
