// The last layer of UH-BDNN, W^(n-1) and c^(n-1), which rebuilds samples from their codes.
#pragma once

#include "codes/bit_groups.h"
#include "learn/ridge_regression.h"
#include "model/hash_function.h"

namespace bdnn {

// The same for a decoder that takes bits in groups. Here b has, for each group, 1 at the place of its value and 0
// elsewhere; it is sparse, so its sums are counted and added up without a product.
struct GroupSums {
  BitGroups groups;
  MatrixXd together;   // the number of times two values occur together; the lower triangle
  MatrixXd xb;         // X B^T
  VectorXd x;          // X 1
  double squares = 0;  // ||X||^2
  double samples = 0;

  GroupSums(const BitGroups& of, std::size_t dimension);
  GroupSums& operator+=(const GroupSums& other);  // all but `together`

  // The sums of the features of a decoder (bdnn/model.h).
  RidgeSums of_features() const;
};

class GroupPartialSums {
 public:
  GroupPartialSums(const BitGroups& groups, std::size_t dimension);
  void clear();
  void add(const float* x, const std::uint8_t* codes, std::size_t count);
  void assign_to(GroupSums& sum) const;  // all but `together`
  // Whole numbers, which add up the same in any order: they need no tree, and would take most of its memory.
  void add_counts_to(GroupSums& total) const;

 private:
  BitGroups groups_;
  MatrixXf together_;
  MatrixXf xb_;
  VectorXd x_;
  double squares_ = 0;
  double samples_ = 0;
};

// The decoder of the codes that an encoder gives these vectors.
RidgeRegression fit_decoder(const HashEncoder& encoder, const Vectors& x, double lambda1, Threads& threads);

// The decoder layer of a model whose samples were seen as (x - offset) * factor: x = (W b + c) / factor + offset.
// W b is over the features of codes in groups.
Decoder decoder_layer(const RidgeRegression& regression, const Scaling& scaling, std::size_t group = 1);

}  // namespace bdnn
