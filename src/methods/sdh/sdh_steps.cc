#include "methods/sdh/sdh_steps.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/error.h"
#include "coding/code_descent.h"
#include "learn/linear_svm.h"
#include "learn/ridge_regression.h"
#include "linalg/product.h"

namespace bdnn {

SdhSteps::Sums& SdhSteps::Sums::operator+=(const Sums& other) {
  bb += other.bb;
  by += other.by;
  phib += other.phib;
  phiphi += other.phiphi;
  phi += other.phi;
  return *this;
}

class SdhSteps::PartialSums {
 public:
  explicit PartialSums(const Sums& zero)
      : bb_(zero.bb.cast<float>()),
        by_(zero.by.cast<float>()),
        phib_(zero.phib.cast<float>()),
        phiphi_(zero.phiphi.cast<float>()),
        phi_(zero.phi) {}

  void clear() {
    bb_.setZero();
    by_.setZero();
    phib_.setZero();
    phiphi_.setZero();
    phi_.setZero();
  }

  void add(const float* phi, const float* b, const std::int32_t* class_of, std::size_t count) {
    const auto bits = static_cast<std::size_t>(bb_.rows());
    const auto anchors = static_cast<std::size_t>(phib_.rows());
    add_gram_lower(b, bits, bits, count, bb_.data(), bits);
    add_product_transposed(phi, anchors, anchors, b, bits, bits, count, phib_.data(), anchors);
    const auto codes = view(b, bits, count);
    for (std::size_t i = 0; i < count; ++i) by_.col(class_of[i]) += codes.col(static_cast<Eigen::Index>(i));
    if (phi_.size() == 0) return;
    add_gram_lower(phi, anchors, anchors, count, phiphi_.data(), anchors);
    phi_ += view(phi, anchors, count).rowwise().sum().cast<double>();
  }

  void assign_to(Sums& sum) const {
    sum.bb = MatrixXf(bb_.selfadjointView<Eigen::Lower>()).cast<double>();
    sum.by = by_.cast<double>();
    sum.phib = phib_.cast<double>();
    sum.phiphi = MatrixXf(phiphi_.selfadjointView<Eigen::Lower>()).cast<double>();
    sum.phi = phi_;
  }

 private:
  MatrixXf bb_;
  MatrixXf by_;
  MatrixXf phib_;
  MatrixXf phiphi_;
  VectorXd phi_;
};

template <class Step>
SdhSteps::Sums SdhSteps::pass(bool with_phi, const Step& step) {
  const auto bits = static_cast<Eigen::Index>(codes_.bits());
  const auto anchors = static_cast<Eigen::Index>(kernel_.anchors());
  const Eigen::Index all = with_phi ? anchors : 0;
  Sums total{MatrixXd::Zero(bits, bits), MatrixXd::Zero(bits, static_cast<Eigen::Index>(classes_)),
             MatrixXd::Zero(anchors, bits), MatrixXd::Zero(all, all), VectorXd::Zero(all)};
  add_sums_over(set_, PartialSums(total), total, threads_,
                [&](PartialSums& partial, std::size_t first, std::size_t count, const float* x) {
                  EncoderScratch scratch;
                  const float* phi = kernel_.features(x, count, scratch);
                  std::vector<float> b(codes_.bits() * count);
                  unpack_signs(codes_.bytes().data() + first * codes_.stride(), codes_.bits(), count, b.data());
                  step(first, count, phi, b.data());
                  codes_.pack(first, count, b.data());
                  partial.add(phi, b.data(), class_of_.data() + first, count);
                });
  return total;
}

SdhSteps::SdhSteps(const TrainingSet& set, std::span<const std::int32_t> class_of, std::size_t classes,
                   const AnchorKernel& kernel, const SdhOptions& options, TargetCodes codes, Threads& threads)
    : set_(set),
      class_of_(class_of),
      classes_(classes),
      kernel_(kernel),
      options_(options),
      threads_(threads),
      codes_(std::move(codes)) {
  sums_ = pass(true, [](std::size_t, std::size_t, const float*, float*) {});
  const auto m = static_cast<double>(set_.size());
  mean_phi_ = sums_.phi / m;
  MatrixXd covariance = std::move(sums_.phiphi) / m;
  covariance -= mean_phi_ * mean_phi_.transpose();
  const double variance = covariance.trace() / static_cast<double>(covariance.rows());
  // Wide Gaussians are nearly dependent; where rounding hides the decay, a larger one takes its place.
  for (double share = options_.decay; !inverse_factor_; share = std::max(10 * share, 1e-8)) {
    if (!(variance > 0) || share > 1) {
      misuse("the Gaussians around {} anchors do not vary over the samples; choose another width", kernel_.anchors());
    }
    MatrixXd decayed = covariance;
    decayed.diagonal().array() += share * variance;
    inverse_factor_ = inverse_cholesky_factor(std::move(decayed));
    decay_ = m * share * variance;
  }
}

// One SVM per class: its codes against all others.
void SdhSteps::fit_svms() {
  const auto m = static_cast<double>(set_.size());
  const std::size_t bits = codes_.bits();
  std::vector<float> numbers(bits * set_.size());
  unpack_signs(codes_.bytes().data(), bits, set_.size(), numbers.data());
  const Vectors codes = Vectors::view(numbers.data(), bits, set_.size());
  TargetCodes own_class(classes_, set_.size());
  for (std::size_t i = 0; i < set_.size(); ++i) {
    const auto c = static_cast<std::size_t>(class_of_[i]);
    own_class.bytes()[i * own_class.stride() + c / 8] |= static_cast<std::uint8_t>(1U << (c % 8));
  }
  std::vector<std::uint32_t> rows(set_.size());
  std::iota(rows.begin(), rows.end(), 0U);
  const TrainingSet set(codes, std::move(rows), {VectorXd::Zero(static_cast<Eigen::Index>(bits)), 1});
  Moments moments{sums_.by.rowwise().sum() / m, sums_.bb / m};
  moments.covariance -= moments.mean * moments.mean.transpose();
  if (svm_bias_.size() == 0) {
    w_ = MatrixXd::Zero(static_cast<Eigen::Index>(bits), static_cast<Eigen::Index>(classes_));
    svm_bias_ = VectorXd::Zero(static_cast<Eigen::Index>(classes_));
  }
  LinearSvms svms{std::move(w_), std::move(svm_bias_)};
  const LinearSvmSolver solver(set, moments, {.c = 1 / options_.lambda, .tolerance = 1e-4}, threads_);
  label_error_ = solver.improve(own_class, svms).objective.sum();
  w_ = std::move(svms.w);
  svm_bias_ = std::move(svms.b);
}

void SdhSteps::fit_labels() {
  if (options_.loss == SdhOptions::Loss::hinge) return fit_svms();
  const auto m = static_cast<double>(set_.size());
  MatrixXd bb = sums_.bb;
  bb.diagonal().array() += options_.lambda;
  const auto w = solve_positive_definite(std::move(bb), sums_.by);
  if (!w)
    misuse("some of the {} bits are equal for all samples; raise lambda above {}", codes_.bits(), options_.lambda);
  w_ = *w;
  // At this W, ||Y - W^T B||^2 + lambda ||W||^2 = ||Y||^2 - <W, B Y^T>.
  label_error_ = m - w_.cwiseProduct(sums_.by).sum();
}

void SdhSteps::fit_predictions() {
  const auto m = static_cast<double>(set_.size());
  const VectorXd mean_b = sums_.by.rowwise().sum() / m;
  const MatrixXd cross = sums_.phib / m - mean_phi_ * mean_b.transpose();
  p_ = small_product(inverse_factor_->transpose(), small_product(*inverse_factor_, cross));
  c_ = mean_b - p_.transpose() * mean_phi_;
  // At this P and c, error and decay together are the variance of B less <P, cross>.
  const double variance = static_cast<double>(codes_.bits()) - mean_b.squaredNorm();
  prediction_error_ = m * (variance - p_.cwiseProduct(cross).sum());
}

std::size_t SdhSteps::improve() {
  constexpr int kSweeps = 10;
  const std::size_t bits = codes_.bits();
  const std::size_t anchors = kernel_.anchors();
  const MatrixXf rounded = p_.cast<float>();
  const auto p = PackedMatrix<float>::from_rows(rounded.data(), bits, anchors, anchors);
  const VectorXf c = c_.cast<float>();
  const auto nu = static_cast<float>(options_.nu);
  const bool hinge = options_.loss == SdhOptions::Loss::hinge;
  // What labels say about the bits of each class.
  MatrixXf towards = w_.cast<float>();
  if (hinge) {
    const VectorXd sum = w_.rowwise().sum();
    towards = (0.5 * ((static_cast<double>(classes_) * w_).colwise() - sum)).cast<float>();
  }
  const CodeDescent descent(small_gram(w_.transpose()), kSweeps);
  std::atomic<std::size_t> changed = 0;
  sums_ = pass(false, [&](std::size_t first, std::size_t count, const float* phi, float* b) {
    MatrixXf q(bits, count);
    multiply(p, phi, count, anchors, q.data(), bits);
    for (std::size_t i = 0; i < count; ++i) {
      auto own = q.col(static_cast<Eigen::Index>(i));
      own = towards.col(class_of_[first + i]) + nu * (own + c);
    }
    const std::vector<float> before(b, b + bits * count);
    if (hinge) {
      std::transform(q.data(), q.data() + bits * count, b, [](float towards_one) { return sign_of(towards_one); });
    } else {
      descent.run(q.data(), count, b);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::equal(b + i * bits, b + (i + 1) * bits, before.data() + i * bits)) ++changed;
    }
  });
  return changed;
}

}  // namespace bdnn
