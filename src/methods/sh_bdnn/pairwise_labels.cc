#include "methods/sh_bdnn/pairwise_labels.h"

#include <algorithm>

#include "learn/class_codes.h"
#include "learn/class_labels.h"
#include "learn/itq_rotation.h"
#include "linalg/decompose.h"

namespace bdnn {

PairwiseLabels::PairwiseLabels(std::span<const std::int64_t> labels, std::size_t bits, double weight)
    : bits_(bits), weight_(weight) {
  ClassLabels numbered = number_classes(labels, "sh-bdnn");
  classes_ = numbered.classes;
  class_of_ = std::move(numbered.of);
}

void PairwiseLabels::turn_outputs(int rotations, const TrainingSet& queries, const Selection& selection,
                                  std::uint64_t seed, Threads& threads) {
  rotations_ = rotations;
  queries_ = &queries;
  selection_ = &selection;
  seed_ = seed;
  threads_ = &threads;
}

void PairwiseLabels::set_class_codes(double term_weight, double temperature, std::uint64_t seed) {
  class_codes_ = class_codes(classes_, bits_, seed);
  if (term_weight > 0) class_term_.emplace(class_codes_, class_of_, term_weight, temperature);
}

void PairwiseLabels::put_class_codes(TargetCodes& codes) const {
  if (class_codes_.size() == 0) return;
  for (std::size_t i = 0; i < class_of_.size(); ++i) {
    const auto own = static_cast<std::size_t>(class_of_[i]);
    if (own < classes_)
      std::copy_n(&class_codes_.bytes()[own * codes.stride()], codes.stride(), &codes.bytes()[i * codes.stride()]);
  }
}

// With one-hot labels Y (classes x m, over the labelled samples), S = 2 Y^T Y - 1 1^T, and
//   ||H^T H / L - S||^2 = ||H H^T||^2 / L^2 - (2/L) (2 ||H Y^T||^2 - ||H 1||^2) + m^2
// with the gradient (4/L) [(H H^T) H / L - 2 (H Y^T) Y + (H 1) 1^T] with respect to H.
double PairwiseLabels::evaluate(const OutputSums& sums, OutputGradient& gradient) const {
  const auto l = static_cast<double>(bits_);
  const auto classes = static_cast<Eigen::Index>(classes_);
  const auto hy = sums.class_sums.leftCols(classes);
  const VectorXd h1 = hy.rowwise().sum();
  const double labelled = sums.class_sizes.head(classes).sum();
  const double scale = weight_ / (2 * sums.samples);
  gradient.labelled += scale * 4 / (l * l) * sums.labelled_hh;
  gradient.shift.leftCols(classes) += scale * 4 / l * ((-2 * hy).colwise() + h1);
  return scale * (sums.labelled_hh.squaredNorm() / (l * l) - 2 / l * (2 * hy.squaredNorm() - h1.squaredNorm()) +
                  labelled * labelled);
}

namespace {

TargetCodes signs_of(const MatrixXf& h) {
  TargetCodes signs(static_cast<std::size_t>(h.rows()), static_cast<std::size_t>(h.cols()));
  signs.pack(0, signs.size(), h.data());
  return signs;
}

}  // namespace

void PairwiseLabels::improve(const LayerSizes& sizes, const TrainingSet& set, std::vector<float>& parameters,
                             TargetCodes& codes) {
  const LayerStack<float> stack(sizes, parameters.data());
  const MatrixXf h = stack.outputs(set, *threads_);
  codes = signs_of(h);
  put_class_codes(codes);
  if (class_codes_.size() > 0 || rotations_ == 0 || !selection_->possible()) return;
  // Every term but the binary one is blind to H -> R H. So R is free, and the codes it gives are compared by what they
  // are for: search.
  const MatrixXf query_h = stack.outputs(*queries_, *threads_);
  double best = selection_->score(codes, signs_of(query_h)).value();
  MatrixXd best_rotation;
  Progress silent;
  for (int i = 0; i < rotations_; ++i) {
    constexpr int kAlternations = 30;
    const std::uint64_t seed = seed_ + 0x9e3779b97f4a7c15 * static_cast<std::uint64_t>(i + 1);
    const MatrixXd r = itq_rotation(h, kAlternations, seed, *threads_, silent);
    TargetCodes turned = signs_of(r.cast<float>() * h);
    const double score = selection_->score(turned, signs_of(r.cast<float>() * query_h)).value();
    if (score <= best) continue;
    best = score;
    best_rotation = r;
    codes = std::move(turned);
  }
  if (best_rotation.size() == 0) return;
  const std::size_t last = sizes.count() - 1;
  auto w = view(parameters.data() + sizes.weights(last), bits_, sizes.inputs(last));
  auto c = view(parameters.data() + sizes.biases(last), bits_, 1);
  w = small_product(best_rotation, w.cast<double>()).cast<float>();
  c = (best_rotation * c.cast<double>()).cast<float>().eval();
  if (!sizes.has_linear_path()) return;
  auto a = view(parameters.data() + sizes.linear_path(), bits_, sizes.dimension());
  a = small_product(best_rotation, a.cast<double>()).cast<float>();
}

}  // namespace bdnn
