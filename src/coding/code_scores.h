// Distances from a code to a query that is not encoded. Both distances here are, up to a constant of the query, a sum
// over the bits of a code plus a number that depends on the code:
//   ||h - b||^2       = ||h||^2     - 2 h^T b + L
//   ||q - W b - c||^2 = ||q - c||^2 - 2 t^T b + b^T G b,   t = W^T (q - c), G = W^T W
// Where the decoder takes bits in groups, W b is the sum of the columns of their values, and t^T b that of their t.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bdnn/rank_by.h"
#include "codes/lookup_scan.h"
#include "coding/refiner.h"
#include "model/hash_function.h"

namespace bdnn {

// The part of the sum that depends on a query, for four or eight bits of the code at a time.
struct LookupTables {
  double constant = 0;
  LookupWidth width = LookupWidth::four_bits;
  std::vector<double> values;  // of the first bits first

  double linear(const std::uint8_t* code, std::size_t stride = 1) const {
    double sum = constant;
    const double* table = values.data();
    const std::size_t per_byte = values_per_byte(width);
    for (std::size_t i = 0; i < values.size() / per_byte; ++i, table += per_byte) {
      const std::uint8_t byte = code[i * stride];
      sum += width == LookupWidth::eight_bits ? table[byte] : table[byte & 15] + table[16 + (byte >> 4)];
    }
    return sum;
  }
};

// The scores of a model; shared by all threads. Every score that bdnn gives is linear() + norm(), from here.
class CodeScores {
 public:
  CodeScores(const Model& model, RankBy by);  // asymmetric or reconstruction

  std::size_t bits() const { return bits_; }
  bool has_norms() const { return view_.has_value(); }
  LookupWidth width() const {
    return view_ && view_->groups().group() == 8 ? LookupWidth::eight_bits : LookupWidth::four_bits;
  }

  // Working memory that is kept between calls; each thread has its own.
  struct Scratch {
    std::vector<float> floats;
    std::vector<float> centred;
    std::vector<float> t;
    std::vector<double> constants;
    HashEncoder::Scratch encoding;
    std::vector<float> b;
    std::vector<float> y;
  };

  // The lookup tables of each query; `tables` may keep more than that from before. Queries that are not finite raise
  // Error with their number, counted from `first`.
  void lookup_tables(const Vectors& queries, std::size_t first, Scratch& scratch,
                     std::vector<LookupTables>& tables) const;

  // ||W b||^2 of codes that stand one after the other; zeros for the asymmetric distance.
  void norms(const std::uint8_t* codes, std::size_t count, Scratch& scratch, double* norms) const;

 private:
  void gram_norms(const std::uint8_t* codes, std::size_t count, Scratch& scratch, double* norms) const;

  std::size_t bits_;
  std::size_t dimension_;
  std::optional<HashEncoder> encoder_;       // of h
  std::optional<DecoderView> view_;          // of t
  std::optional<PackedMatrix<float>> gram_;  // G, where bits are not grouped
};

}  // namespace bdnn
