// Linear support vector machines, one for each bit of a code, trained together on the same samples.
//
// For each bit k with labels y_i in {-1, +1}, the bit k of the codes:
//
//     min over w, b of  f = 1/2 (||w||^2 + b^2) + C sum_i max(0, 1 - y_i (w^T x_i + b))^2
//
// This is LIBLINEAR's L2R_L2LOSS_SVC with a bias of 1, which is the oracle of the tests. LIBLINEAR itself would need a
// sparse copy of the data, 16 bytes for each number, and would train one bit after another on one thread. Here all bits
// share the products with the data, a tile at a time, on all threads; the result is the same for any number of them.
//
// The solver is a truncated Newton method. The generalised Hessian of bit k is I + 2C X D_k X^T, where D_k selects
// the samples within the margin. Newton's equations are solved by conjugate gradients, preconditioned with the Hessian
// of all samples, D_k = 1, which is one matrix for all bits.
#pragma once

#include "learn/affine.h"
#include "learn/target_codes.h"
#include "learn/training_set.h"
#include "linalg/matrix.h"
#include "linalg/product.h"

namespace bdnn {

struct LinearSvmOptions {
  double c = 1;            // C, the weight of the loss
  int newton_steps = 100;  // at most
  double tolerance =
      1e-6;           // a bit is finished once its next step is expected to lower f by no more than this share of f
  int cg_steps = 50;  // conjugate gradients in one Newton step, at most
  double cg_accuracy = 0.1;  // they end once the error, in the preconditioner's norm, has shrunk to this
};

// The hash function sgn(W x + b) of the scaled samples of a TrainingSet.
struct LinearSvms {
  MatrixXd w;  // D x L, a column for each bit
  VectorXd b;  // L

  static LinearSvms zero(std::size_t dimension, std::size_t bits);
};

class LinearSvmSolver {
 public:
  // The preconditioner is computed from `moments`, those of the vectors behind the set. If the set is a subset of them,
  // the solver is a little slower and equally exact.
  LinearSvmSolver(const TrainingSet& set, const Moments& moments, const LinearSvmOptions& options, Threads& threads);

  struct Outcome {
    VectorXd objective;  // f of each bit
    int newton_steps = 0;
    int passes = 0;  // over the samples
  };

  // Improves `svms`, starting from their current values; zeros are a good start. f of a bit never rises. `labels` has a
  // code for each sample of the set.
  Outcome improve(const TargetCodes& labels, LinearSvms& svms) const;

  // f of each bit, and its gradient: a column of D + 1 for each bit, the last number for b.
  struct Evaluation {
    VectorXd objective;
    MatrixXd gradient;
  };
  Evaluation evaluate(const TargetCodes& labels, const LinearSvms& svms) const;

 private:
  class Problem;

  const TrainingSet& set_;
  LinearSvmOptions options_;
  Threads& threads_;
  PackedMatrix<double> inverse_factor_;             // M, where M^T M is the inverse of the preconditioner
  PackedMatrix<double> inverse_factor_transposed_;  // M^T
};

}  // namespace bdnn
