// L-BFGS with a line search that meets the strong Wolfe conditions: liblbfgs, with our stopping rules around it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bdnn {

struct LbfgsOptions {
  int iterations = 400;
  int history = 100;         // pairs of steps and gradients; memory: 16 bytes each per parameter
  double optimality = 1e-5;  // stop when ||gradient|| is this share of ||x|| (or of 1, if that is larger)
  double progress = 1e-9;    // stop when an iteration lowers f by no more than this share; at once if f is negative
};

struct LbfgsResult {
  double value = 0;
  int iterations = 0;
  int evaluations = 0;
  std::string stopped;  // why
};

// Minimises f, starting from x, which receives the best point found. f(x, gradient) returns the value and sets the
// gradient; after_iteration(n), if given, is called after each iteration. An exception from either stops the search and
// leaves x as it was.
LbfgsResult minimise_lbfgs(std::vector<double>& x, const std::function<double(const double* x, double* gradient)>& f,
                           const LbfgsOptions& options, const std::function<void(int)>& after_iteration = {});

}  // namespace bdnn
