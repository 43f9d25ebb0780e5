// The last layer of UH-BDNN, W^(n-1) and c^(n-1): what rebuilds samples from their codes.
#pragma once

#include <algorithm>
#include <vector>

#include "base/blocks.h"
#include "base/threads.h"
#include "hash/code_groups.h"
#include "hash/encoder.h"
#include "learn/target_codes.h"
#include "learn/training_set.h"
#include "linalg/matrix.h"

namespace bdnn {

// x = W b + c
struct Regression {
  MatrixXf w;  // D x L
  VectorXf c;  // D
};

// The sums over samples that the best decoder of given codes is a function of.
struct DecoderSums {
  MatrixXd bb;         // B B^T
  VectorXd b;          // B 1
  MatrixXd bx;         // B X^T
  VectorXd x;          // X 1
  double squares = 0;  // ||X||^2
  double samples = 0;

  DecoderSums(std::size_t bits, std::size_t dimension);
};

// Adds the samples x (D x count) with the codes b (L x count, of -1 and +1).
class DecoderPartialSums {
 public:
  DecoderPartialSums(std::size_t bits, std::size_t dimension);
  void clear();
  void add(const float* x, const float* b, std::size_t count);
  void add_to(DecoderSums& total) const;

 private:
  MatrixXf bb_;
  MatrixXf bx_;
  DecoderSums rest_;
};

// The same where a decoder takes bits in groups, and b has, for each group, 1 at the place of its value and 0
// elsewhere: few of very many, so that they are counted and added up without a product.
struct GroupSums {
  CodeGroups groups;
  MatrixXd together;   // how often two values occur together; the lower triangle
  MatrixXd xb;         // X B^T
  VectorXd x;          // X 1
  double squares = 0;  // ||X||^2
  double samples = 0;

  GroupSums(const CodeGroups& of, std::size_t dimension);

  // The sums of the features of a decoder (bdnn/model.h).
  DecoderSums of_features() const;
};

class GroupPartialSums {
 public:
  GroupPartialSums(const CodeGroups& groups, std::size_t dimension);
  void clear();
  void add(const float* x, const std::uint8_t* codes, std::size_t count);
  void add_to(GroupSums& total) const;

 private:
  CodeGroups groups_;
  MatrixXf together_;
  MatrixXf xb_;
  VectorXd x_;
  double squares_ = 0;
  double samples_ = 0;
};

// Adds to `total` the sums over a set: work(partial, first, count, x) adds those of a tile of it, whose samples x it is
// given. Partial sums, which start as `zero`, are added up block by block, whatever the number of threads.
template <class Partial, class Total, class Work>
void add_sums_over(const TrainingSet& set, const Partial& zero, Total& total, Threads& threads, const Work& work) {
  const std::size_t tile = samples_per_tile(set.dimension());
  std::vector<Partial> partials(static_cast<std::size_t>(threads.count()), zero);
  std::vector<std::vector<float>> x(static_cast<std::size_t>(threads.count()));
  threads.in_order(
      blocks_of(set.size()),
      [&](std::size_t block, int worker) {
        const Range range = block_range(block, set.size());
        auto& partial = partials[static_cast<std::size_t>(worker)];
        auto& samples = x[static_cast<std::size_t>(worker)];
        samples.resize(tile * set.dimension());
        partial.clear();
        for (std::size_t i = 0; i < range.count; i += tile) {
          const std::size_t count = std::min(tile, range.count - i);
          set.load(range.first + i, count, samples.data());
          work(partial, range.first + i, count, samples.data());
        }
      },
      [&](std::size_t, int worker) { partials[static_cast<std::size_t>(worker)].add_to(total); });
}

// Of codes of `bits` and samples of `dimension`.
template <class Work>
DecoderSums sums_over(const TrainingSet& set, std::size_t bits, std::size_t dimension, Threads& threads,
                      const Work& work) {
  DecoderSums total(bits, dimension);
  add_sums_over(set, DecoderPartialSums(bits, dimension), total, threads, work);
  return total;
}

// The decoder that minimises 1/2m ||X - W B - c 1^T||^2 + lambda1/2 ||W||^2: a ridge regression.
Regression fit_decoder(const DecoderSums& sums, double lambda1);

// The decoder of the codes that an encoder gives these vectors.
Regression fit_decoder(const Encoder& encoder, const Vectors& x, double lambda1, Threads& threads);

// As a layer of a model whose samples were seen as (x - offset) * factor: x = (W b + c) / factor + offset.
// W b is over the features of codes in groups.
Decoder decoder_layer(const Regression& regression, const Scaling& scaling, std::size_t group = 1);

// 1/2m ||X - W B - c 1^T||^2
double reconstruction_error(const DecoderSums& sums, const Regression& decoder);

}  // namespace bdnn
