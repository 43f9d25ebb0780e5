#include "methods/kmh/kmh.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "learn/affine.h"
#include "linalg/decompose.h"
#include "methods/kmh/codebook.h"
#include "model/hash_function.h"

namespace bdnn {
namespace {

using QuantizerEncoder = FormOf<ProductQuantizer>::Encoder;

struct Subspace {
  std::size_t bits = 0;
  MatrixXd directions;  // d x D, orthonormal rows, the variance of the data descending
  VectorXd variances;
  Codebook book;

  // Codewords that span fewer dimensions than the subspace has: only these decide which one is the nearest.
  bool spans_less() const { return book.codewords.cols() - 1 < directions.rows(); }
};

// `total` in parts that differ by at most one, the larger ones first.
std::vector<std::size_t> equal_parts(std::size_t total, std::size_t parts) {
  std::vector<std::size_t> sizes(parts, total / parts);
  for (std::size_t i = 0; i < total % parts; ++i) ++sizes[i];
  return sizes;
}

// All principal directions whose variance exceeds rounding errors, and never fewer than there are bits.
PrincipalDirections directions_of(const Vectors& x, const Moments& moments, std::size_t bits, Threads& threads) {
  constexpr double kDoubtful = 1e-5;  // of the largest: the rounding of a covariance from products in float
  const Eigenpairs all = top_eigenpairs(moments.covariance, std::min(x.dimension(), x.size() - 1));
  const Eigen::Index certain = (all.values.array() > kDoubtful * all.values[0]).count();
  if (static_cast<std::size_t>(certain) < bits) return principal_directions(x, moments, bits, threads);
  return {moments.mean, all.vectors.leftCols(certain).transpose(), all.values.head(certain)};
}

std::vector<Subspace> subspaces_of(const PrincipalDirections& all, std::size_t bits, std::size_t block) {
  const std::size_t count = (bits + block - 1) / block;
  const std::vector<std::size_t> bits_of = equal_parts(bits, count);
  const auto groups = balanced_groups({all.variances.begin(), all.variances.end()},
                                      equal_parts(static_cast<std::size_t>(all.variances.size()), count));
  std::vector<Subspace> subspaces(count);
  for (std::size_t g = 0; g < count; ++g) {
    const std::vector<Eigen::Index> rows(groups[g].begin(), groups[g].end());
    subspaces[g] = {bits_of[g], all.directions(rows, Eigen::all), all.variances(rows), {}};
  }
  return subspaces;
}

// The tiles of a block as floats less the mean.
class CentredTiles {
 public:
  CentredTiles(const Vectors& x, const VectorXd& mean) : x_(x), mean_(mean.cast<float>()) {}

  template <class Work>
  void for_each(const Range& block, const Work& work) const {
    const std::size_t tile = samples_per_tile(x_.dimension());
    std::vector<float> floats(tile * x_.dimension());
    std::vector<float> centred(tile * x_.dimension());
    for_each_tile(block, tile, [&](std::size_t first, std::size_t count) {
      view(centred.data(), x_.dimension(), count) =
          view(x_.floats(first, count, floats.data()), x_.dimension(), count).colwise() - mean_;
      work(centred.data(), count);
    });
  }

 private:
  const Vectors& x_;
  VectorXf mean_;
};

// PCA hashing in every subspace: s is the mean magnitude of the samples' first coordinates.
void start(std::vector<Subspace>& subspaces, const Vectors& x, const CentredTiles& tiles, std::size_t bits,
           Threads& threads) {
  MatrixXf leading(bits, x.dimension());
  Eigen::Index row = 0;
  for (const Subspace& own : subspaces) {
    const auto size = static_cast<Eigen::Index>(own.bits);
    leading.middleRows(row, size) = own.directions.topRows(size).cast<float>();
    row += size;
  }
  const auto packed = PackedMatrix<float>::from_columns(leading.data(), bits, x.dimension(), bits);
  DoubleSum magnitudes{MatrixXd::Zero(leading.rows(), 1)};
  const MatrixXf zero = MatrixXf::Zero(leading.rows(), 1);
  sum_over_samples(threads, x.size(), zero, magnitudes, [&](const Range& block, MatrixXf& sum) {
    std::vector<float> y;
    tiles.for_each(block, [&](const float* centred, std::size_t count) {
      y.resize(bits * count);
      multiply(packed, centred, count, x.dimension(), y.data(), bits);
      sum += view(y.data(), bits, count).cwiseAbs().rowwise().sum();
    });
  });
  row = 0;
  for (Subspace& own : subspaces) {
    const auto size = static_cast<Eigen::Index>(own.bits);
    const double scale = magnitudes.value.middleRows(row, size).mean() / static_cast<double>(x.size());
    own.book = cube_codebook(static_cast<std::size_t>(own.directions.rows()), own.bits, scale);
    row += size;
  }
}

std::vector<float> rounded_rows(const MatrixXd& matrix) {
  const MatrixXf columns = matrix.transpose().cast<float>();
  return {columns.data(), columns.data() + columns.size()};
}

// The quantizer of vectors about `centre`. A part has the coordinates of its subspace or, where the codewords span
// less, coordinates of their span about their mean.
ProductQuantizer quantizer_of(const std::vector<Subspace>& subspaces, const VectorXd& centre) {
  ProductQuantizer function;
  Layer& projection = function.projection;
  projection.inputs = static_cast<std::size_t>(centre.size());
  for (const Subspace& own : subspaces) {
    MatrixXd weight = own.directions;
    MatrixXd codewords = own.book.codewords;
    VectorXd origin = VectorXd::Zero(weight.rows());
    if (own.spans_less()) {
      const VectorXd middle = codewords.rowwise().mean();
      codewords.colwise() -= middle;
      const MatrixXd basis = orthonormal_basis(codewords.leftCols(codewords.cols() - 1)).transpose();
      weight = small_product(basis, weight);
      codewords = small_product(basis, codewords);
      origin = small_product(basis, middle);
    }
    const Network part = affine_network(weight, centre);
    const Layer& layer = part.layers.front();
    projection.outputs += layer.outputs;
    projection.weight.insert(projection.weight.end(), layer.weight.begin(), layer.weight.end());
    for (std::size_t k = 0; k < layer.outputs; ++k) {
      projection.bias.push_back(layer.bias[k] - static_cast<float>(origin[static_cast<Eigen::Index>(k)]));
    }
    function.parts.push_back({own.bits, layer.outputs, rounded_rows(codewords.transpose())});
  }
  return function;
}

// The samples of each codeword, in coordinates of the subspaces.
std::vector<CellSums> assign(const std::vector<Subspace>& subspaces, const Vectors& x, const CentredTiles& tiles,
                             Threads& threads) {
  const QuantizerEncoder encoder(quantizer_of(subspaces, VectorXd::Zero(static_cast<Eigen::Index>(x.dimension()))));
  // Where the quantizer does not have the coordinates of the subspaces, whole vectors are summed and projected later.
  const bool whole = std::any_of(subspaces.begin(), subspaces.end(), [](const auto& own) { return own.spans_less(); });
  Eigen::Index rows = whole ? static_cast<Eigen::Index>(x.dimension()) : 0;
  Eigen::Index cells = 0;
  std::size_t coordinates = 0;
  for (const Subspace& own : subspaces) {
    rows = std::max(rows, own.directions.rows());
    cells += own.book.codewords.cols();
    coordinates += static_cast<std::size_t>(own.directions.rows());
  }
  // A column per codeword of each subspace: the sum, and below it the count.
  DoubleSum total{MatrixXd::Zero(rows + 1, cells)};
  const MatrixXf zero = MatrixXf::Zero(rows + 1, cells);
  sum_over_samples(threads, x.size(), zero, total, [&](const Range& block, MatrixXf& sum) {
    EncoderScratch scratch;
    std::vector<std::uint8_t> indices;
    tiles.for_each(block, [&](const float* centred, std::size_t count) {
      const float* projected = encoder.project(centred, count, scratch);
      indices.resize(count);
      Eigen::Index first_cell = 0;
      std::size_t coordinate = 0;
      for (std::size_t part = 0; part < subspaces.size(); ++part) {
        const auto size = static_cast<std::size_t>(subspaces[part].directions.rows());
        if (encoder.nearest(part, projected, count, scratch, indices.data()) < count) {
          failure("the training data is so large that its distances overflow; scale it down");
        }
        for (std::size_t i = 0; i < count; ++i) {
          auto cell = sum.col(first_cell + indices[i]);
          if (whole) {
            cell.head(rows) += Eigen::Map<const VectorXf>(centred + i * x.dimension(), rows);
          } else {
            const auto own = static_cast<Eigen::Index>(size);
            cell.head(own) += Eigen::Map<const VectorXf>(projected + i * coordinates + coordinate, own);
          }
          cell[rows] += 1;
        }
        first_cell += subspaces[part].book.codewords.cols();
        coordinate += size;
      }
    });
  });
  std::vector<CellSums> sums;
  Eigen::Index first_cell = 0;
  for (const Subspace& own : subspaces) {
    const Eigen::Index count = own.book.codewords.cols();
    const auto columns = total.value.middleCols(first_cell, count);
    sums.push_back({columns.row(rows).transpose(), whole ? small_product(own.directions, columns.topRows(rows))
                                                         : MatrixXd(columns.topRows(own.directions.rows()))});
    first_cell += count;
  }
  return sums;
}

Trained train_kmh(const TrainingTask& task, const KmhOptions& options) {
  check_directions(task.x, task.bits);
  const Moments moments = moments_of(task.x, task.threads, task.progress);
  std::vector<Subspace> subspaces = subspaces_of(directions_of(task.x, moments, task.bits, task.threads), task.bits,
                                                 static_cast<std::size_t>(options.block));
  const CentredTiles tiles(task.x, moments.mean);
  start(subspaces, task.x, tiles, task.bits, task.threads);
  const auto iterations = static_cast<std::size_t>(options.iterations);
  for (std::size_t iteration = 1; iteration <= iterations; ++iteration) {
    const std::vector<CellSums> cells = assign(subspaces, task.x, tiles, task.threads);
    task.threads.for_each(subspaces.size(),
                          [&](std::size_t i, int) { update_codewords(subspaces[i].book, cells[i], options.lambda); });
    double quantization = 0;
    double affinity = 0;
    for (std::size_t i = 0; i < subspaces.size(); ++i) {
      quantization += subspaces[i].variances.sum() + quantization_error(subspaces[i].book, cells[i]);
      affinity += affinity_error(subspaces[i].book, cells[i]);
    }
    task.progress.round({{"iteration", static_cast<double>(iteration)},
                         {"objective", quantization + options.lambda * affinity},
                         {"quantization", quantization},
                         {"affinity", affinity}});
    task.progress.update("iterations", iteration, iterations);
  }
  return {quantizer_of(subspaces, moments.mean)};
}

}  // namespace

std::vector<std::vector<std::size_t>> balanced_groups(const std::vector<double>& variances,
                                                      const std::vector<std::size_t>& sizes) {
  std::vector<std::vector<std::size_t>> groups(sizes.size());
  std::vector<double> logarithms(sizes.size(), 0.0);
  for (std::size_t k = 0; k < variances.size(); ++k) {
    std::size_t smallest = sizes.size();
    for (std::size_t g = 0; g < sizes.size(); ++g) {
      if (groups[g].size() == sizes[g]) continue;
      if (smallest == sizes.size() || logarithms[g] < logarithms[smallest]) smallest = g;
    }
    groups[smallest].push_back(k);
    // Above 0, so that empty groups come first.
    logarithms[smallest] += portable_log(variances[k] / variances.back()) + 1;
  }
  return groups;
}

Method kmh_method() {
  return make_method<KmhOptions>(
      {.name = "kmh",
       .summary = "k-means whose codewords lie as far apart as their indices, in subspaces",
       .reference = "He, Wen and Sun, K-means hashing: an affinity-preserving quantization method for learning binary "
                    "compact codes, CVPR 2013",
       .options = [](KmhOptions& o) -> OptionList {
         return {integer_option("block", "bits per subspace", o.block, 1,
                                static_cast<int>(FormOf<ProductQuantizer>::kMostPartBits)),
                 real_option("lambda", "weight of the distances between codewords", o.lambda, 0, 1e6),
                 integer_option("iterations", "alternations of indices and codewords", o.iterations, 0, 100000)};
       },
       .train = train_kmh});
}

}  // namespace bdnn
