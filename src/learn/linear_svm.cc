#include "learn/linear_svm.h"

#include <numeric>
#include <vector>

#include "base/error.h"
#include "learn/ridge_regression.h"
#include "linalg/activation.h"
#include "linalg/decompose.h"

namespace bdnn {
namespace {

// Sums of a few bits: over samples, of numbers times samples; and a number for each bit.
struct BitSums {
  MatrixXd rx;     // sum r x^T, bits x D
  VectorXd r;      // sum r
  VectorXd value;  // sum of squared slacks

  BitSums(std::size_t bits, std::size_t dimension)
      : rx(MatrixXd::Zero(static_cast<Eigen::Index>(bits), static_cast<Eigen::Index>(dimension))),
        r(VectorXd::Zero(rx.rows())),
        value(VectorXd::Zero(rx.rows())) {}
  BitSums& operator+=(const BitSums& other) {
    rx += other.rx;
    r += other.r;
    value += other.value;
    return *this;
  }
};

class BitPartialSums {
 public:
  BitPartialSums(std::size_t bits, std::size_t dimension)
      : rx_(MatrixXf::Zero(static_cast<Eigen::Index>(bits), static_cast<Eigen::Index>(dimension))),
        r_(VectorXd::Zero(rx_.rows())),
        value_(VectorXd::Zero(rx_.rows())) {}

  void clear() {
    rx_.setZero();
    r_.setZero();
    value_.setZero();
  }

  void add(const std::vector<float>& r, const float* x, std::size_t count) {
    const auto bits = static_cast<std::size_t>(rx_.rows());
    const auto dimension = static_cast<std::size_t>(rx_.cols());
    add_product_transposed(r.data(), bits, bits, x, dimension, dimension, count, rx_.data(), bits);
    r_ += view(r.data(), bits, count).rowwise().sum().cast<double>();
  }
  VectorXd& value() { return value_; }

  void assign_to(BitSums& sum) const {
    sum.rx = rx_.cast<double>();
    sum.r = r_;
    sum.value = value_;
  }

  // Room for a tile.
  std::vector<float> outputs;
  std::vector<float> labels;
  std::vector<float> margin;

 private:
  MatrixXf rx_;
  VectorXd r_;
  VectorXd value_;
};

// Weights of some bits, a column of D + 1 for each, as outputs w^T x + b of samples.
class Outputs {
 public:
  explicit Outputs(const MatrixXd& w)
      : rounded_(w.cast<float>()),
        bias_(rounded_.row(rounded_.rows() - 1)),
        packed_(PackedMatrix<float>::from_rows(rounded_.data(), static_cast<std::size_t>(w.cols()),
                                               static_cast<std::size_t>(w.rows() - 1),
                                               static_cast<std::size_t>(w.rows()))) {}

  void of(const float* x, std::size_t count, std::vector<float>& h) const {
    h.resize(packed_.rows() * count);
    multiply(packed_, x, count, packed_.depth(), h.data(), packed_.rows());
    add_bias(bias_.data(), packed_.rows(), count, h.data());
  }

 private:
  MatrixXf rounded_;
  VectorXf bias_;
  PackedMatrix<float> packed_;
};

using BitList = std::vector<std::size_t>;

BitList first_places(std::size_t count) {
  BitList places(count);
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

// The entries `places` of a list, and the columns `places` of a matrix.
BitList chosen(const BitList& from, const BitList& places) {
  BitList some;
  for (const std::size_t place : places) some.push_back(from[place]);
  return some;
}
MatrixXd columns(const MatrixXd& from, const BitList& places) {
  MatrixXd some(from.rows(), static_cast<Eigen::Index>(places.size()));
  for (std::size_t j = 0; j < places.size(); ++j) {
    some.col(static_cast<Eigen::Index>(j)) = from.col(static_cast<Eigen::Index>(places[j]));
  }
  return some;
}

// A column of D + 1 for each bit: weights, and the bias below them.
MatrixXd stacked(const MatrixXd& w, const VectorXd& b) {
  MatrixXd both(w.rows() + 1, w.cols());
  both << w, b.transpose();
  return both;
}

}  // namespace

LinearSvms LinearSvms::zero(std::size_t dimension, std::size_t bits) {
  const auto d = static_cast<Eigen::Index>(dimension);
  const auto l = static_cast<Eigen::Index>(bits);
  return {MatrixXd::Zero(d, l), VectorXd::Zero(l)};
}

LinearSvmSolver::LinearSvmSolver(const TrainingSet& set, const Moments& moments, const LinearSvmOptions& options,
                                 Threads& threads)
    : set_(set), options_(options), threads_(threads) {
  // I + 2C sum (x, 1) (x, 1)^T over the scaled samples.
  const Eigen::Index d = moments.mean.size();
  const double factor = set.scaling().factor;
  VectorXd mean(d + 1);
  mean << (moments.mean - set.scaling().offset) * factor, 1;
  MatrixXd hessian = MatrixXd::Zero(d + 1, d + 1);
  hessian.topLeftCorner(d, d) = moments.covariance * (factor * factor);
  for (Eigen::Index j = 0; j <= d; ++j) hessian.col(j) += mean[j] * mean;
  hessian *= 2 * options.c * static_cast<double>(set.size());
  // Added to I: enough to cover the rounding of a covariance from products in float.
  hessian.diagonal().array() += 1 + 1e-6 * hessian.trace();
  const auto inverse = inverse_cholesky_factor(std::move(hessian));
  if (!inverse) failure("the covariance of the training data is not positive; are all its numbers finite?");
  const auto size = static_cast<std::size_t>(d + 1);
  inverse_factor_ = PackedMatrix<double>::from_columns(inverse->data(), size, size, size);
  inverse_factor_transposed_ = PackedMatrix<double>::from_rows(inverse->data(), size, size, size);
}

// All bits of one call, each at its own point. Vectors of bits are columns of D + 1.
class LinearSvmSolver::Problem {
 public:
  Problem(const LinearSvmSolver& solver, const TargetCodes& labels)
      : solver_(solver), labels_(labels), within_(labels.bits(), labels.size()) {
    if (labels.size() != solver.set_.size()) {
      misuse("there are {} codes for {} training samples; give one per sample", labels.size(), solver.set_.size());
    }
  }

  // Of the bits `bits` at w. Their samples within the margin are those that hessian_times() knows from then on.
  Evaluation evaluate(const BitList& bits, const MatrixXd& w) {
    ++passes_;
    const Outputs outputs(w);
    const double c = solver_.options_.c;
    const BitSums sums =
        sum(bits.size(), [&](BitPartialSums& partial, std::size_t first, std::size_t count, const float* x) {
          outputs.of(x, count, partial.outputs);
          unpack(labels_, first, count, partial.labels);
          unpack(within_, first, count, partial.margin);
          const auto scale = static_cast<float>(-2 * c);
          for (std::size_t i = 0; i < count; ++i) {
            float* h = partial.outputs.data() + i * bits.size();
            const float* y = partial.labels.data() + i * labels_.bits();
            float* margin = partial.margin.data() + i * labels_.bits();
            for (std::size_t j = 0; j < bits.size(); ++j) {
              const float slack = 1 - y[bits[j]] * h[j];
              const float loss = std::max(slack, 0.0F);
              margin[bits[j]] = slack;
              partial.value()[static_cast<Eigen::Index>(j)] += static_cast<double>(loss) * static_cast<double>(loss);
              h[j] = scale * y[bits[j]] * loss;
            }
          }
          within_.pack(first, count, partial.margin.data());
          partial.add(partial.outputs, x, count);
        });
    return {c * sums.value + 0.5 * w.colwise().squaredNorm().transpose(), w + stacked(sums.rx.transpose(), sums.r)};
  }

  // (I + 2C X D_k X^T) v
  MatrixXd hessian_times(const BitList& bits, const MatrixXd& v) {
    ++passes_;
    const Outputs outputs(v);
    const BitSums sums =
        sum(bits.size(), [&](BitPartialSums& partial, std::size_t first, std::size_t count, const float* x) {
          outputs.of(x, count, partial.outputs);
          unpack(within_, first, count, partial.margin);
          for (std::size_t i = 0; i < count; ++i) {
            float* h = partial.outputs.data() + i * bits.size();
            const float* margin = partial.margin.data() + i * labels_.bits();
            for (std::size_t j = 0; j < bits.size(); ++j) h[j] = margin[bits[j]] > 0 ? h[j] : 0.0F;
          }
          partial.add(partial.outputs, x, count);
        });
    return v + 2 * solver_.options_.c * stacked(sums.rx.transpose(), sums.r);
  }

  // The preconditioner's inverse times g.
  MatrixXd precondition(const MatrixXd& g) const {
    constexpr std::size_t kColumns = 8;  // of one thread
    const auto size = static_cast<std::size_t>(g.rows());
    const auto count = static_cast<std::size_t>(g.cols());
    MatrixXd half(g.rows(), g.cols());
    MatrixXd result(g.rows(), g.cols());
    solver_.threads_.for_each((count + kColumns - 1) / kColumns, [&](std::size_t part, int) {
      const std::size_t first = part * kColumns;
      const std::size_t some = std::min(kColumns, count - first);
      multiply(solver_.inverse_factor_, g.data() + first * size, some, size, half.data() + first * size, size);
      multiply(solver_.inverse_factor_transposed_, half.data() + first * size, some, size, result.data() + first * size,
               size);
    });
    return result;
  }

  // Newton's direction of each bit, -H^-1 g as approximated by conjugate gradients. `z` is the preconditioned gradient.
  MatrixXd direction(const BitList& bits, const MatrixXd& gradient, const MatrixXd& z) {
    MatrixXd result = MatrixXd::Zero(gradient.rows(), gradient.cols());
    MatrixXd residual = -gradient;
    MatrixXd p = -z;
    VectorXd rz = gradient.cwiseProduct(z).colwise().sum();
    const VectorXd enough = rz * (solver_.options_.cg_accuracy * solver_.options_.cg_accuracy);
    BitList open = first_places(bits.size());  // unfinished columns
    for (int step = 0; step < solver_.options_.cg_steps && !open.empty(); ++step) {
      const MatrixXd hp = hessian_times(chosen(bits, open), columns(p, open));
      for (std::size_t j = 0; j < open.size(); ++j) {
        const auto k = static_cast<Eigen::Index>(open[j]);
        const auto hp_k = hp.col(static_cast<Eigen::Index>(j));
        const double alpha = rz[k] / p.col(k).dot(hp_k);
        result.col(k) += alpha * p.col(k);
        residual.col(k) -= alpha * hp_k;
      }
      const MatrixXd next = precondition(columns(residual, open));
      BitList left;
      for (std::size_t j = 0; j < open.size(); ++j) {
        const auto k = static_cast<Eigen::Index>(open[j]);
        const auto next_k = next.col(static_cast<Eigen::Index>(j));
        const double now = residual.col(k).dot(next_k);
        if (!(now > enough[k])) continue;
        p.col(k) = next_k + now / rz[k] * p.col(k);
        rz[k] = now;
        left.push_back(open[j]);
      }
      open = std::move(left);
    }
    return result;
  }

  int passes() const { return passes_; }

 private:
  template <class Work>
  BitSums sum(std::size_t bits, const Work& work) const {
    BitSums total(bits, solver_.set_.dimension());
    add_sums_over(solver_.set_, BitPartialSums(bits, solver_.set_.dimension()), total, solver_.threads_, work);
    return total;
  }

  static void unpack(const TargetCodes& codes, std::size_t first, std::size_t count, std::vector<float>& numbers) {
    numbers.resize(codes.bits() * count);
    unpack_signs(codes.bytes().data() + first * codes.stride(), codes.bits(), count, numbers.data());
  }

  const LinearSvmSolver& solver_;
  const TargetCodes& labels_;
  TargetCodes within_;  // +1 for the samples within the margin of a bit, where it was evaluated last
  int passes_ = 0;
};

LinearSvmSolver::Evaluation LinearSvmSolver::evaluate(const TargetCodes& labels, const LinearSvms& svms) const {
  return Problem(*this, labels).evaluate(first_places(labels.bits()), stacked(svms.w, svms.b));
}

LinearSvmSolver::Outcome LinearSvmSolver::improve(const TargetCodes& labels, LinearSvms& svms) const {
  constexpr double kSufficient = 0.01;  // of the decrease that the slope predicts
  constexpr int kHalvings = 10;         // beyond, rounding hides any gain
  Problem problem(*this, labels);
  Outcome outcome;
  BitList bits = first_places(labels.bits());  // the unfinished bits
  MatrixXd w = stacked(svms.w, svms.b);
  Evaluation at = problem.evaluate(bits, w);
  outcome.objective = at.objective;
  while (outcome.newton_steps < options_.newton_steps) {
    MatrixXd z = problem.precondition(at.gradient);
    const VectorXd gain = 0.5 * at.gradient.cwiseProduct(z).colwise().sum().transpose();
    BitList open;
    for (std::size_t j = 0; j < bits.size(); ++j) {
      const auto k = static_cast<Eigen::Index>(j);
      if (gain[k] > options_.tolerance * at.objective[k]) open.push_back(j);
    }
    if (open.empty()) break;
    ++outcome.newton_steps;
    bits = chosen(bits, open);
    const VectorXd before = columns(at.objective.transpose(), open).transpose();
    const MatrixXd gradient = columns(at.gradient, open);
    const MatrixXd start = columns(w, bits);
    const MatrixXd direction = problem.direction(bits, gradient, columns(z, open));
    const VectorXd slope = gradient.cwiseProduct(direction).colwise().sum();
    VectorXd step = VectorXd::Ones(slope.size());
    for (int halving = 0;; ++halving) {
      at = problem.evaluate(bits, start + direction * step.asDiagonal());
      bool all = true;
      for (Eigen::Index k = 0; k < step.size(); ++k) {
        if (at.objective[k] <= before[k] + kSufficient * step[k] * slope[k]) continue;
        step[k] = halving + 1 < kHalvings ? step[k] / 2 : 0;
        all = false;
      }
      if (all || halving == kHalvings) break;
    }
    // If no step is short enough, the bit stays unchanged, and is finished.
    BitList going_on;
    for (std::size_t j = 0; j < bits.size(); ++j) {
      const auto k = static_cast<Eigen::Index>(j);
      const auto bit = static_cast<Eigen::Index>(bits[j]);
      if (step[k] == 0) continue;
      w.col(bit) = start.col(k) + step[k] * direction.col(k);
      outcome.objective[bit] = at.objective[k];
      going_on.push_back(j);
    }
    if (going_on.size() < bits.size()) {
      at = {columns(at.objective.transpose(), going_on).transpose(), columns(at.gradient, going_on)};
      bits = chosen(bits, going_on);
      if (bits.empty()) break;
    }
  }
  svms.w = w.topRows(svms.w.rows());
  svms.b = w.row(w.rows() - 1);
  outcome.passes = problem.passes();
  return outcome;
}

}  // namespace bdnn
