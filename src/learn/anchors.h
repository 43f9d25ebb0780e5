// Anchors of kernel methods: random training samples with a Gaussian around each.
//
//     phi_j(x) = exp(-gamma ||x - a_j||^2),   j = 1 ... n
//
// KSH, SDH, BRE and KLSH learn from phi(x) instead of x. Computing it is one product (model/anchor_form.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/threads.h"
#include "bdnn/model.h"
#include "bdnn/vectors.h"
#include "linalg/matrix.h"

namespace bdnn {

// The mean of ||x - a||^2 over all samples x and all anchors a, in closed form from their means and variances.
double mean_squared_distance(const Vectors& x, const VectorXd& mean, const std::vector<float>& anchors,
                             Threads& threads);

// `count` samples as anchors, and gamma = 1 / (width * the mean squared distance of samples to anchors): a Gaussian
// is 1/e at sqrt(width) times the typical distance. The network behind the anchors is left empty.
// Raises Error if there are fewer samples than anchors, or all are the same.
AnchorNetwork sample_anchors(const Vectors& x, std::size_t count, double width, std::uint64_t seed, Threads& threads);

}  // namespace bdnn
