#include "evaluate/centred_vectors.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/element.h"
#include "data/format.h"
#include "evaluate/exact_distance.h"
#include "evaluate/select_kernel.h"
#include "linalg/matrix.h"

namespace bdnn {
namespace {

constexpr double kLargest = 1e150;          // squares of larger numbers do not fit a double
constexpr double kSmallestLength = 1e-140;  // below, squares lose digits
constexpr double kFloatRounding = 0x1p-24;  // relative error of one operation
constexpr double kDoubleRounding = 0x1p-53;

[[noreturn]] void refuse_number(std::span<const double> x, std::size_t row, const char* name) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::abs(x[i]) <= kLargest) continue;
    if (std::isfinite(x[i])) {
      failure("the {} have {} in row {}, column {} (counted from 0), which is too large to square; scale them down",
              name, x[i], row, i);
    }
    failure("the {} have {} in row {}, column {} (counted from 0); every number must be finite", name, x[i], row, i);
  }
  failure("the {} have a number in row {} that is not finite", name, row);
}

// Statistics from one pass over all vectors.
struct Survey {
  std::vector<double> sum;      // of the vectors; of their directions for the cosine
  std::vector<double> lengths;  // for the cosine only
  double largest = 0;           // of all magnitudes
};

Survey survey(const Vectors& x, const char* name, Metric metric, Threads& threads) {
  Survey result;
  if (metric == Metric::cosine) result.lengths.resize(x.size());
  std::vector<double> largest(static_cast<std::size_t>(threads.count()));
  std::vector<VectorXd> sums(largest.size());
  VectorXd total = VectorXd::Zero(static_cast<Eigen::Index>(x.dimension()));
  TreeSum<VectorXd> tree(total);
  threads.in_order(
      blocks_of(x.size()),
      [&](std::size_t block, int worker) {
        const auto w = static_cast<std::size_t>(worker);
        sums[w] = VectorXd::Zero(total.size());
        VectorXd vector(total.size());
        const std::span<const double> values(vector.data(), x.dimension());
        const Range range = block_range(block, x.size());
        for (std::size_t row = range.first; row < range.first + range.count; ++row) {
          to_double(x, row, vector.data());
          bool good = true;
          for (const double value : values) good &= std::abs(value) <= kLargest;
          if (!good) refuse_number(values, row, name);
          largest[w] = std::max(largest[w], vector.cwiseAbs().maxCoeff());
          if (metric == Metric::euclidean) {
            sums[w] += vector;
            continue;
          }
          const double length = length_of(values);
          if (length < kSmallestLength) {
            failure(
                "row {} of the {} (counted from 0) is {}, which has no direction; leave it out, or use Euclidean "
                "distances",
                row, name, length == 0 ? "zero" : "next to zero");
          }
          result.lengths[row] = length;
          sums[w] += vector / length;
        }
      },
      [&](std::size_t, int worker) { tree.add([&](VectorXd& sum) { sum = sums[static_cast<std::size_t>(worker)]; }); });
  if (const VectorXd* sum = tree.total()) total = *sum;
  result.sum.assign(total.begin(), total.end());
  result.largest = *std::max_element(largest.begin(), largest.end());
  return result;
}

bool is_integer(Element element) {
  return element != Element::f16 && element != Element::f32 && element != Element::f64;
}

}  // namespace

CentredVectors::CentredVectors(const Vectors& database, const Vectors& queries, Metric metric, Threads& threads)
    : database_(database), queries_(queries), metric_(metric) {
  constexpr std::size_t kMultiple = 14;  // whole tiles of columns in the product kernels
  tile_size_ =
      std::clamp<std::size_t>((std::size_t{1} << 16) / database.dimension(), kMultiple, 224) / kMultiple * kMultiple;
  Survey database_survey = survey(database, "database vectors", metric, threads);
  Survey query_survey = survey(queries, "queries", metric, threads);
  lengths_ = std::move(database_survey.lengths);
  query_lengths_ = std::move(query_survey.lengths);
  choose_map(database_survey.sum, std::max(database_survey.largest, query_survey.largest));
  choose_bound();
  centre_database(threads);
}

void CentredVectors::choose_map(std::span<const double> sum, double largest) {
  const Element element = database_.shape().element;
  if (metric_ == Metric::euclidean) {
    // Keeps products in the middle of float's range, and changes no digit.
    if (largest > 0) scale_ = std::ldexp(1.0, -std::clamp(std::ilogb(largest), -500, 500));
    integers_ = is_integer(element) && is_integer(queries_.shape().element);
  }
  for (const double value : sum) {
    const double mean = value / static_cast<double>(database_.size());
    // Integers stay integers.
    centre_.push_back(static_cast<float>((integers_ ? std::round(mean) : mean) * scale_));
  }
}

double CentredVectors::factor(std::span<const double> lengths, std::size_t row) const {
  return metric_ == Metric::euclidean ? scale_ : 1 / lengths[row];
}

// Whether x' may be computed in float arithmetic, tile by tile, from elements that are floats or nearly so.
bool CentredVectors::small_steps_will_do() const {
  const Element element = database_.shape().element;
  if (element != Element::f32 && element != Element::u8) return false;
  const auto moderate = [](double f) { return f >= 0x1p-100 && f <= 0x1p100; };
  if (metric_ == Metric::euclidean) return moderate(scale_);
  return std::all_of(lengths_.begin(), lengths_.end(), moderate);
}

void CentredVectors::centre_row(std::size_t row, float* out) const {
  const auto by = static_cast<float>(factor(lengths_, row));
  const std::byte* from = database_.data() + row * database_.shape().bytes_per_vector();
  if (database_.shape().element == Element::u8) {
    scale_and_shift(reinterpret_cast<const std::uint8_t*>(from), centre_.size(), by, centre_.data(), out);
  } else {
    scale_and_shift(reinterpret_cast<const float*>(from), centre_.size(), by, centre_.data(), out);
  }
}

void CentredVectors::centre_carefully(const Vectors& x, std::size_t row, double factor,
                                      const std::vector<float>& centre, std::vector<double>& scratch, float* out) {
  scratch.resize(centre.size());
  to_double(x, row, scratch.data());
  for (std::size_t i = 0; i < centre.size(); ++i) {
    out[i] = static_cast<float>(scratch[i] * factor - static_cast<double>(centre[i]));
  }
}

Extent CentredVectors::measure(const Vectors& x, std::size_t row, double factor, const float* centred,
                               std::vector<double>& scratch) const {
  scratch.resize(centre_.size());
  to_double(x, row, scratch.data());
  // Four sums at a time, because one would wait for each addition.
  double squares[4] = {};
  double errors[4] = {};
  const auto add = [&](std::size_t i, std::size_t to) {
    const auto value = static_cast<double>(centred[i]);
    const double error = value - (scratch[i] * factor - static_cast<double>(centre_[i]));
    squares[to] += value * value;
    errors[to] += error * error;
  };
  std::size_t i = 0;
  for (; i + 4 <= centre_.size(); i += 4) {
    for (std::size_t j = 0; j < 4; ++j) add(i + j, j);
  }
  for (; i < centre_.size(); ++i) add(i, 0);
  const auto total = [](const double* parts) { return std::sqrt(parts[0] + parts[1] + parts[2] + parts[3]); };
  Extent extent{total(squares), total(errors)};
  // This was measured in double, which rounds too: far less, but not zero unless all values are integers.
  if (!(integers_ && extent.error == 0 && extent.length < 0x1p24 * scale_)) {
    const double n = static_cast<double>(centre_.size()) + 8;
    extent.error = extent.error * (1 + 0x1p-20) + extent.length * 0x1p-50 +
                   (metric_ == Metric::cosine ? 2 * n * kDoubleRounding : 0x1p-1000);
  }
  return extent;
}

void CentredVectors::centre_database(Threads& threads) {
  const std::size_t dimension = database_.dimension();
  const bool keep = !small_steps_will_do();
  if (keep) copy_ = allocate_vectors({dimension, database_.size(), Element::f32}, "the centred database");
  auto* copy = reinterpret_cast<float*>(copy_.get());
  square_norms_.resize(database_.size());
  extents_.resize((database_.size() + tile_size_ - 1) / tile_size_);
  threads.for_each(extents_.size(), [&](std::size_t t, int) {
    std::vector<float> row_scratch(dimension);
    std::vector<double> scratch;
    const Range range = tile_range(t);
    for (std::size_t row = range.first; row < range.first + range.count; ++row) {
      float* out = keep ? copy + row * dimension : row_scratch.data();
      const double by = factor(lengths_, row);
      if (keep) {
        centre_carefully(database_, row, by, centre_, scratch, out);
      } else {
        centre_row(row, out);
      }
      const Extent extent = measure(database_, row, by, out, scratch);
      square_norms_[row] = static_cast<float>(extent.length * extent.length);
      extents_[t].length = std::max(extents_[t].length, extent.length);
      extents_[t].error = std::max(extents_[t].error, extent.error);
    }
  });
  for (const Extent& extent : extents_) {
    largest_.length = std::max(largest_.length, extent.length);
    largest_.error = std::max(largest_.error, extent.error);
  }
}

Range CentredVectors::tile_range(std::size_t tile) const {
  const std::size_t first = tile * tile_size_;
  return {first, std::min(tile_size_, database_.size() - first)};
}

const float* CentredVectors::tile(std::size_t tile, float* scratch) const {
  const Range range = tile_range(tile);
  const std::size_t dimension = database_.dimension();
  if (copy_) return reinterpret_cast<const float*>(copy_.get()) + range.first * dimension;
  for (std::size_t i = 0; i < range.count; ++i) centre_row(range.first + i, scratch + i * dimension);
  return scratch;
}

void CentredVectors::sample(std::size_t first, std::size_t step, std::size_t count, float* out) const {
  const std::size_t dimension = database_.dimension();
  for (std::size_t i = 0; i < count; ++i, out += dimension) {
    const std::size_t row = first + i * step;
    if (copy_) {
      std::copy_n(reinterpret_cast<const float*>(copy_.get()) + row * dimension, dimension, out);
    } else {
      centre_row(row, out);
    }
  }
}

Extent CentredVectors::centre_query(std::size_t query, float* out) const {
  const double by = factor(query_lengths_, query);
  std::vector<double> scratch;
  centre_carefully(queries_, query, by, centre_, scratch, out);
  return measure(queries_, query, by, out, scratch);
}

void CentredVectors::choose_bound() {
  const double n = static_cast<double>(database_.dimension()) + 16;
  // Of the product: one per dimension; of the norm, of adding it, and of sums with this bound: fewer than 16.
  const double roundings = n * kFloatRounding;
  constexpr double kNoHelp = 1e9;  // with this many roundings the bound rules nothing out
  per_square_ = roundings < 0.5 ? roundings / (1 - roundings) + n * kDoubleRounding : kNoHelp;
  // The part that does not shrink with the lengths: underflow, and for the cosine the rounding of the distances in
  // double.
  absolute_ = n * 0x1p-120 + (metric_ == Metric::cosine ? 8 * n * kDoubleRounding : n * 0x1p-1074 * scale_ * scale_);
  per_square_ *= 1 + 0x1p-20;
  if (integers_) no_rounding_ = 0x1.fp11 * scale_;
}

double CentredVectors::error_bound(const Extent& query, const Extent& x) const {
  const double error = query.error + x.error;
  const double reach = query.length + x.length + error;  // no distance is longer
  // Sums of integers that all fit the 24 bits of a float are not rounded.
  if (error == 0 && reach < no_rounding_) return 0;
  return reach * (per_square_ * reach + 2.01 * error) + absolute_;
}

}  // namespace bdnn
