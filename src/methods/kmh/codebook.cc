#include "methods/kmh/codebook.h"

#include <bit>
#include <cmath>
#include <vector>

#include "learn/lbfgs.h"

namespace bdnn {
namespace {

double hamming_based_distance(const Codebook& book, Eigen::Index i, Eigen::Index j) {
  return 2 * book.scale * std::sqrt(static_cast<double>(std::popcount(static_cast<std::size_t>(i ^ j))));
}

}  // namespace

Codebook cube_codebook(std::size_t dimension, std::size_t bits, double scale) {
  Codebook book{MatrixXd::Zero(static_cast<Eigen::Index>(dimension), Eigen::Index{1} << bits), scale};
  for (Eigen::Index i = 0; i < book.codewords.cols(); ++i) {
    for (Eigen::Index k = 0; k < static_cast<Eigen::Index>(bits); ++k) {
      book.codewords(k, i) = (i >> k & 1) != 0 ? scale : -scale;
    }
  }
  return book;
}

double quantization_error(const Codebook& book, const CellSums& cells) {
  const double squares = book.codewords.colwise().squaredNorm() * cells.counts;
  return (squares - 2 * cells.sums.cwiseProduct(book.codewords).sum()) / cells.counts.sum();
}

double affinity_error(const Codebook& book, const CellSums& cells) {
  double sum = 0;
  for (Eigen::Index j = 0; j < book.codewords.cols(); ++j) {
    for (Eigen::Index i = 0; i < j; ++i) {
      const double error = (book.codewords.col(i) - book.codewords.col(j)).norm() - hamming_based_distance(book, i, j);
      sum += 2 * cells.counts[i] * cells.counts[j] * error * error;
    }
  }
  return sum / std::pow(cells.counts.sum(), 2);
}

double codeword_error(const Codebook& book, const CellSums& cells, double lambda, Eigen::Index j, const double* c,
                      double* gradient) {
  const Eigen::Index size = book.codewords.rows();
  const Eigen::Map<const VectorXd> at(c, size);
  Eigen::Map<VectorXd> slope(gradient, size);
  slope.setZero();
  if (cells.counts[j] == 0) return 0;
  const double n = cells.counts.sum();
  const double share = cells.counts[j] / n;
  // Of the pairs (i, j) and (j, i), which E_aff has both.
  double affinity = 0;
  double along = 0;  // of the gradient, what is in the direction of c
  for (Eigen::Index i = 0; i < book.codewords.cols(); ++i) {
    if (i == j || cells.counts[i] == 0) continue;
    const double weight = 2 * share * cells.counts[i] / n;
    const double distance = (at - book.codewords.col(i)).norm();
    const double error = distance - hamming_based_distance(book, i, j);
    affinity += weight * error * error;
    if (distance == 0) continue;  // no direction is better than another
    const double pull = 2 * weight * error / distance;
    along += pull;
    slope -= pull * book.codewords.col(i);
  }
  const VectorXd from_mean = at - cells.sums.col(j) / cells.counts[j];
  slope = lambda * (slope + along * at) + 2 * share * from_mean;
  return share * from_mean.squaredNorm() + lambda * affinity;
}

void update_codewords(Codebook& book, const CellSums& cells, double lambda) {
  constexpr LbfgsOptions kOptions{.iterations = 100, .history = 10, .optimality = 1e-5, .progress = 1e-8};
  const double n = cells.counts.sum();
  std::vector<double> place(static_cast<std::size_t>(book.codewords.rows()));
  std::vector<double> in_units(place.size());
  for (Eigen::Index j = 0; j < book.codewords.cols(); ++j) {
    if (cells.counts[j] == 0) continue;
    // In units of s, and per sample of the codeword: so the stopping rules mean the same for any data.
    const double factor = n / (cells.counts[j] * book.scale * book.scale);
    const auto error = [&](const double* at, double* gradient) {
      for (std::size_t k = 0; k < place.size(); ++k) place[k] = at[k] * book.scale;
      const double value = codeword_error(book, cells, lambda, j, place.data(), gradient);
      for (std::size_t k = 0; k < place.size(); ++k) gradient[k] *= factor * book.scale;
      return factor * value;
    };
    Eigen::Map<VectorXd> units(in_units.data(), book.codewords.rows());
    units = book.codewords.col(j) / book.scale;
    minimise_lbfgs(in_units, error, kOptions);
    book.codewords.col(j) = units * book.scale;
  }
}

}  // namespace bdnn
