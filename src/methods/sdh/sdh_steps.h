// The three steps of SDH (methods/sdh/sdh.h), as functions of sums over samples.
//
// phi(x) is not kept: each B step computes it again, tile by tile, and sums what the next G and F steps need. So an
// iteration reads the samples once, and memory holds one bit per sample and bit of code, and n x n numbers for n
// anchors.
#pragma once

#include <span>

#include "learn/target_codes.h"
#include "learn/training_set.h"
#include "linalg/decompose.h"
#include "methods/sdh/sdh.h"
#include "model/anchor_form.h"

namespace bdnn {

class SdhSteps {
 public:
  // `class_of`: of each sample of the set, all of them labelled. `codes`: B to start from. The caller keeps the rest.
  SdhSteps(const TrainingSet& set, std::span<const std::int32_t> class_of, std::size_t classes,
           const AnchorKernel& kernel, const SdhOptions& options, TargetCodes codes, Threads& threads);

  void fit_labels();       // G step: W for these codes
  void fit_predictions();  // F step: P and c for them
  std::size_t improve();   // B step for this W, P and c. Returns how many codes have changed

  // After these steps: ||Y - W^T B||^2 + lambda ||W||^2 or the objective of the SVMs, and ||B - F(X)||^2 + decay
  // ||P||^2.
  double label_error() const { return label_error_; }
  double prediction_error() const { return prediction_error_; }
  double objective() const { return label_error_ + options_.nu * prediction_error_; }

  const TargetCodes& codes() const { return codes_; }
  const MatrixXd& w() const { return w_; }  // L x classes
  const MatrixXd& p() const { return p_; }  // anchors x L
  const VectorXd& c() const { return c_; }  // L
  double decay() const { return decay_; }   // of P, in the sum over samples

 private:
  // Sums over samples that the G and F steps are functions of.
  struct Sums {
    MatrixXd bb;      // B B^T
    MatrixXd by;      // B Y^T
    MatrixXd phib;    // phi B^T
    MatrixXd phiphi;  // phi phi^T, and
    VectorXd phi;     // phi 1: in the first pass only, since no code changes them
    Sums& operator+=(const Sums& other);
  };
  class PartialSums;

  void fit_svms();
  // Reads all samples: step(first, count, phi, b) may change the codes b of a tile, which are kept.
  template <class Step>
  Sums pass(bool with_phi, const Step& step);

  const TrainingSet& set_;
  std::span<const std::int32_t> class_of_;
  std::size_t classes_;
  const AnchorKernel& kernel_;
  SdhOptions options_;
  Threads& threads_;
  TargetCodes codes_;
  Sums sums_;
  VectorXd mean_phi_;
  std::optional<MatrixXd> inverse_factor_;  // M: M^T M is the inverse of the covariance of phi, with the decay
  double decay_ = 0;
  MatrixXd w_;
  VectorXd svm_bias_;
  MatrixXd p_;
  VectorXd c_;
  double label_error_ = 0;
  double prediction_error_ = 0;
};

}  // namespace bdnn
