#include "methods/ba/binary_autoencoder.h"

#include <optional>

#include "coding/code_descent.h"
#include "coding/code_enumeration.h"
#include "linalg/activation.h"
#include "linalg/decompose.h"

namespace bdnn {
namespace {

// Of the samples and their codes.
struct CodeSums {
  RidgeSums ridge;
  double differing = 0;
  double changed = 0;

  CodeSums& operator+=(const CodeSums& other) {
    ridge += other.ridge;
    differing += other.differing;
    changed += other.changed;
    return *this;
  }
};

class CodePartialSums {
 public:
  CodePartialSums(std::size_t bits, std::size_t dimension) : ridge(bits, dimension) {}

  void clear() {
    ridge.clear();
    differing = 0;
    changed = 0;
  }
  void assign_to(CodeSums& sum) const {
    ridge.assign_to(sum.ridge);
    sum.differing = differing;
    sum.changed = changed;
  }

  RidgePartialSums ridge;
  double differing = 0;
  double changed = 0;
  // Room for a tile.
  std::vector<float> outputs;
  std::vector<float> hash;
  std::vector<float> q;
  std::vector<float> codes;
  std::vector<float> before;
};

double count_differing(const std::vector<float>& a, const std::vector<float>& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
  return static_cast<double>(count);
}

}  // namespace

BinaryAutoencoder::BinaryAutoencoder(const TrainingSet& set, const Moments& moments, LinearSvms first,
                                     const Options& options, Threads& threads)
    : set_(set),
      options_(options),
      threads_(threads),
      solver_(set, moments, options.svm, threads),
      hash_(std::move(first)),
      codes_(static_cast<std::size_t>(hash_.b.size()), set.size()),
      decoder_{MatrixXf::Zero(hash_.w.rows(), hash_.w.cols()), VectorXf::Zero(hash_.w.rows())},
      sums_(codes_.bits(), set.dimension()) {
  set_codes([](const CodePartialSums& tile, std::size_t, std::vector<float>& codes) { codes = tile.hash; });
  changed_ = 0;
  decoder_step();
}

// One pass over the samples: choose(tile, count, codes) sets the codes, given the previous codes, the signs of the
// hash function and the decoder's q = W^T (x - c).
template <class Choose>
void BinaryAutoencoder::set_codes(const Choose& choose) {
  const std::size_t bits = codes_.bits();
  const std::size_t dimension = set_.dimension();
  const auto l = static_cast<Eigen::Index>(bits);
  // The decoder's columns and the hash function's in one product.
  MatrixXf weights(decoder_.w.rows(), 2 * l);
  weights << decoder_.w, hash_.w.cast<float>();
  VectorXf bias(2 * l);
  bias << -(decoder_.w.transpose() * decoder_.c), hash_.b.cast<float>();
  const auto packed = PackedMatrix<float>::from_rows(weights.data(), 2 * bits, dimension, dimension);
  CodeSums total{RidgeSums(bits, dimension)};
  add_sums_over(set_, CodePartialSums(bits, dimension), total, threads_,
                [&](CodePartialSums& tile, std::size_t first, std::size_t count, const float* x) {
                  tile.outputs.resize(2 * bits * count);
                  tile.hash.resize(bits * count);
                  tile.q.resize(bits * count);
                  tile.before.resize(bits * count);
                  multiply(packed, x, count, dimension, tile.outputs.data(), 2 * bits);
                  add_bias(bias.data(), 2 * bits, count, tile.outputs.data());
                  for (std::size_t i = 0; i < count; ++i) {
                    const float* outputs = tile.outputs.data() + i * 2 * bits;
                    std::copy_n(outputs, bits, tile.q.data() + i * bits);
                    for (std::size_t k = 0; k < bits; ++k) tile.hash[i * bits + k] = sign_of(outputs[bits + k]);
                  }
                  unpack_signs(codes_.bytes().data() + first * codes_.stride(), bits, count, tile.before.data());
                  tile.codes = tile.before;
                  choose(tile, count, tile.codes);
                  codes_.pack(first, count, tile.codes.data());
                  tile.differing += count_differing(tile.codes, tile.hash);
                  tile.changed += count_differing(tile.codes, tile.before);
                  tile.ridge.add(x, tile.codes.data(), count);
                });
  const auto samples = static_cast<double>(set_.size());
  sums_ = std::move(total.ridge);
  differing_ = total.differing / samples;
  changed_ = total.changed / samples;
}

void BinaryAutoencoder::code_step(double mu) {
  const std::size_t bits = codes_.bits();
  const MatrixXd gram = small_gram(decoder_.w.cast<double>());
  std::optional<CodeEnumeration> enumeration;
  std::optional<CodeDescent> descent;
  constexpr int kSweeps = 100;  // more than it ever takes
  if (bits <= options_.enumerate) {
    enumeration.emplace(gram);
  } else {
    descent.emplace(gram, kSweeps, options_.local_search);
  }
  // mu times the number of differing bits is mu/4 ||b - h||^2.
  const auto pull = static_cast<float>(mu / 4);
  set_codes([&](CodePartialSums& tile, std::size_t count, std::vector<float>& codes) {
    for (std::size_t i = 0; i < tile.q.size(); ++i) tile.q[i] += pull * tile.hash[i];
    if (enumeration) {
      enumeration->run(tile.q.data(), count, codes.data());
    } else {
      descent->run(tile.q.data(), count, codes.data());
    }
  });
}

void BinaryAutoencoder::decoder_step() { decoder_ = fit_ridge(sums_, 0); }

LinearSvmSolver::Outcome BinaryAutoencoder::hash_step() {
  if (!trained_) hash_ = LinearSvms::zero(set_.dimension(), codes_.bits());
  trained_ = true;
  return solver_.improve(codes_, hash_);
}

double BinaryAutoencoder::reconstruction_error() const { return 2 * mean_squared_error(sums_, decoder_); }

}  // namespace bdnn
