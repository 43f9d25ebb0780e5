// The three steps that train a binary autoencoder. Codes are kept as {-1, +1}: with b = 2z - 1, mu ||z - h||^2 is mu
// times the number of bits in which code and hash function differ.
#pragma once

#include "learn/linear_svm.h"
#include "learn/ridge_regression.h"
#include "learn/target_codes.h"
#include "learn/training_set.h"

namespace bdnn {

class BinaryAutoencoder {
 public:
  struct Options {
    LinearSvmOptions svm = {};
    std::size_t enumerate = 10;  // number of bits up to which the Z step tries all codes
    int local_search = 10;       // rounds of local search, for longer codes
  };

  // Starts with the codes that `first` gives, and the best decoder for them.
  BinaryAutoencoder(const TrainingSet& set, const Moments& moments, LinearSvms first, const Options& options,
                    Threads& threads);

  // Each step lowers the penalised objective over the variable in its name.
  void code_step(double mu);
  void decoder_step();
  // Trains the SVMs on the codes. Their loss stands for the number of differing bits, which mostly falls with it.
  LinearSvmSolver::Outcome hash_step();

  // 1/m sum ||x - f(z)||^2, and 1/m sum ||z - h(x)||^2, the number of differing bits, for h as it was in the last code
  // step.
  double reconstruction_error() const;
  double differing() const { return differing_; }
  double changed() const { return changed_; }  // in the last code step, bits for each sample

  const TargetCodes& codes() const { return codes_; }
  const LinearSvms& hash_function() const { return hash_; }
  const RidgeRegression& decoder() const { return decoder_; }

 private:
  template <class Choose>
  void set_codes(const Choose& choose);

  const TrainingSet& set_;
  Options options_;
  Threads& threads_;
  LinearSvmSolver solver_;
  LinearSvms hash_;
  bool trained_ = false;  // the hash function consists of SVMs, from which the next ones may start
  TargetCodes codes_;
  RidgeRegression decoder_;
  RidgeSums sums_;  // of the samples and their codes
  double differing_ = 0;
  double changed_ = 0;
};

}  // namespace bdnn
