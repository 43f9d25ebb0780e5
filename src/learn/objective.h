// The objective that UH-BDNN and SH-BDNN share, and its gradient:
//
//   J = similarity + lambda1/2 sum_l ||W^(l)||^2 + lambda2/2m ||H - B||^2
//         + lambda3/2 ||H H^T / m - I||^2 + lambda4/2m ||H 1||^2
//
// where H (L x m) holds the last layer's outputs, before the sign. The similarity differs between the methods: the
// reconstruction of the samples from their codes, or the agreement of the codes with pairs of labels.
//
// Every term is a function of sums over the samples. So an evaluation is one forward pass, which takes small sums, and
// one backward pass, in which each sample has its own small gradient: linear in m, for every term.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "base/blocks.h"
#include "learn/layers.h"
#include "learn/target_codes.h"
#include "learn/training_set.h"

namespace bdnn {

struct Lambdas {
  double weights = 0;               // lambda1, of the layers ...
  double binary = 0;                // lambda2
  double independence = 0;          // lambda3
  double balance = 0;               // lambda4
  std::optional<double> path = {};  // ... and of the linear path; nullopt: the same

  double of_path() const { return path.value_or(weights); }
};

// The sums over samples that the terms are functions of.
struct OutputSums {
  double samples = 0;
  MatrixXd hh;           // H H^T; empty without the independence term
  MatrixXd labelled_hh;  // the same over labelled samples; empty if there is only one class
  MatrixXd class_sums;   // L x classes: the sum of h over each class
  VectorXd class_sizes;
  double squared_gap = 0;  // ||H - B||^2
  double differing = 0;    // bits in which sgn(H) and B differ

  OutputSums(std::size_t bits, std::size_t classes, bool independence);
  OutputSums& operator*=(double factor);
  OutputSums& operator+=(const OutputSums& other);
};

// dJ/dh_i = pull (h_i - b_i) + all h_i + labelled h_i (for labelled samples) + shift.col(class of i)
struct OutputGradient {
  double pull = 0;
  MatrixXd all;       // empty without the independence term
  MatrixXd labelled;  // empty if there is only one class
  MatrixXd shift;

  OutputGradient(std::size_t bits, std::size_t classes, bool independence);
};

// J by its terms.
struct Terms {
  double similarity = 0;
  double weights = 0;
  double binary = 0;
  double independence = 0;
  double balance = 0;
  double of_batch = 0;   // the batch's own term
  double differing = 0;  // the share of bits where sgn(H) and B differ; not part of J

  double total() const { return similarity + weights + binary + independence + balance + of_batch; }
};

// The term in which the methods differ.
class Similarity {
 public:
  virtual ~Similarity() = default;
  // The classes that sums are taken over: one for all samples, or those of the labels and, last, the unlabelled
  // samples.
  virtual std::size_t classes() const { return 1; }
  // The class of each sample of the training set; empty if there is only one.
  virtual std::span<const std::int32_t> class_of() const { return {}; }
  // The term's value as a function of the sums over all samples; adds its derivative to `gradient`.
  virtual double evaluate(const OutputSums& sums, OutputGradient& gradient) const = 0;
  // The term's own weight decay.
  virtual double weight_decay() const { return 0; }
};

// Some samples of a training set, to evaluate the objective on.
template <class T>
struct Batch {
  std::size_t size = 0;
  const std::uint32_t* order = nullptr;  // the places of the batch's samples in the training set; null: in order
  // Samples [first, first + count) of the batch: in place, or copied to `scratch`.
  std::function<const T*(std::size_t first, std::size_t count, std::vector<T>& scratch)> load;
};

// A term on the outputs h (bits x samples) of a batch: its value; adds its derivative to `gradient`, laid out as h.
template <class T>
using OutputTerm = std::function<double(const T* h, std::size_t samples, T* gradient)>;

// The whole training set as a batch.
template <class T>
Batch<T> whole(const TrainingSet& set);

template <class T>
class Objective {
 public:
  // `samples`: m, of the whole training set.
  Objective(const LayerSizes& sizes, const Lambdas& lambdas, const Similarity& similarity, const TargetCodes& codes,
            std::size_t samples, Threads& threads);
  ~Objective();

  // The terms at the given parameters, and the gradient, laid out as these; partial sums are kept in T, and added up
  // in Sum. A batch of fewer than m samples represents all of them: its sums are scaled up and, if `running` is
  // given, blended into it with the weight `blend`.
  // `own_term`, if given, is an additional term of this batch alone.
  // Memory: the activations of the batch.
  template <class Sum>
  Terms evaluate(const T* parameters, const Batch<T>& batch, Sum* gradient, OutputSums* running = nullptr,
                 double blend = 1, const OutputTerm<T>& own_term = {});

  // Sums over no samples.
  OutputSums no_sums() const { return {sizes_.bits(), similarity_.classes(), has_independence()}; }

  // The terms only, in memory that does not grow with the batch. visit(first, count, h), if given, sees the outputs
  // H of all samples, a few at a time, from several threads.
  using Visit = std::function<void(std::size_t first, std::size_t count, const T* h)>;
  Terms evaluate(const T* parameters, const Batch<T>& batch, const Visit& visit = {});

 private:
  struct Worker;
  template <class Sum>
  struct GradientSum {
    std::vector<Sum> values;
    GradientSum& operator+=(const GradientSum& other) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += other.values[i];
      return *this;
    }
  };
  template <class Sum>
  using GradientTree = TreeSum<GradientSum<Sum>>;
  enum class Keep { nothing, activations };

  bool has_independence() const { return lambdas_.independence > 0; }

  OutputSums forward(const LayerStack<T>& stack, const Batch<T>& batch, Keep keep, const Visit& visit);
  template <class Sum>
  void backward(const LayerStack<T>& stack, const Batch<T>& batch, const OutputGradient& at_outputs, Sum* gradient);
  double weight_decay(const T* parameters) const;
  std::vector<T*> kept_at(std::size_t first);

  const LayerSizes& sizes_;
  Lambdas lambdas_;
  const Similarity& similarity_;
  const TargetCodes& codes_;
  std::size_t samples_;
  Threads& threads_;
  std::vector<Worker> workers_;
  std::tuple<GradientTree<float>, GradientTree<double>> gradient_trees_{GradientSum<float>(), GradientSum<double>()};
  std::vector<std::vector<T>> kept_;  // the activations of each layer, for the backward pass
  std::vector<T> batch_gradient_;     // of the batch's own term; empty if there is none
};

extern template class Objective<float>;
extern template class Objective<double>;

}  // namespace bdnn
