// Codes from which a model's decoder rebuilds vectors best.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bdnn/model.h"
#include "bdnn/vectors.h"
#include "codes/bit_groups.h"
#include "coding/code_descent.h"
#include "coding/group_descent.h"

namespace bdnn {

// Raises Error if the model has no decoder.
const Decoder& decoder_of(const Model& model);

// q = W^T (x - c): a vector as seen by a decoder. W has the columns that vectors are rebuilt from: x = W b + c for b in
// {-1, +1}^L, or, if bits are grouped, a column for each value of each group, of which one per group is added.
class DecoderView {
 public:
  explicit DecoderView(const Model& model);

  const BitGroups& groups() const { return groups_; }
  bool grouped() const { return groups_.group() > 1; }
  const MatrixXf& columns() const { return w_; }  // W
  MatrixXd gram() const;                          // W^T W

  // x is D x count, q is columns().cols() x count; `centred` is working memory for x - c.
  void project(const float* x, std::size_t count, std::vector<float>& centred, float* q) const;

  // ||sum of the columns of the groups' values||^2 of codes that stand one after the other.
  void group_norms(const std::uint8_t* codes, std::size_t count, double* norms) const;

  // The vectors rebuilt from codes, D x count.
  void rebuild(const std::uint8_t* codes, std::size_t count, std::vector<float>& b, float* x) const;

 private:
  // The sum of the columns of a code's groups, added to x.
  void add_columns(const std::uint8_t* code, float* x) const;

  BitGroups groups_;
  MatrixXf w_;
  std::vector<float> c_;
  PackedMatrix<float> transposed_;
  PackedMatrix<float> packed_;  // of a decoder without groups
};

// Lowers the distance from vectors to those rebuilt from their codes, starting from given codes; shared by all threads.
class Refiner {
 public:
  Refiner(const Model& model, int local_search);

  struct Scratch {
    std::vector<float> centred;
    std::vector<float> q;
    std::vector<float> b;
    CodeDescent::Scratch bit_descent;
    GroupDescent::Scratch group_descent;
  };

  // x is dimension() x count; the codes are those to start from, and receive the result.
  void refine(const float* x, std::size_t count, Scratch& scratch, std::uint8_t* codes) const;

 private:
  void refine_groups(const float* x, std::size_t count, Scratch& scratch, std::uint8_t* codes) const;

  std::size_t bits_;
  DecoderView view_;
  std::optional<CodeDescent> bit_descent_;
  std::optional<GroupDescent> group_descent_;  // one of them
};

}  // namespace bdnn
