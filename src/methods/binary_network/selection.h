// Model selection: some samples are kept out of the training, to be searched for among the others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bdnn/metrics.h"
#include "bdnn/progress.h"
#include "bdnn/vectors.h"
#include "learn/target_codes.h"

namespace bdnn {

// A random choice of rows, ascending, and all others.
struct HeldOut {
  std::vector<std::uint32_t> queries;
  std::vector<std::uint32_t> training;
};
// At most a tenth of the samples is held out, and none where that is fewer than one. With labels (or empty), a class
// keeps at least one sample to train on.
HeldOut hold_out(std::size_t samples, std::span<const std::int64_t> labels, std::size_t queries, std::uint64_t seed);

// What codes are worth on what was held out.
struct HeldOutScore {
  double average_precision = 0;          // mean over the held-out rows
  std::optional<double> precision = {};  // with labels: of what is within Hamming distance 2

  // What is chosen by. Average precision alone would not see classes whose codes are near each other.
  double value() const { return precision ? (average_precision + *precision) / 2 : average_precision; }
};

class Selection {
 public:
  // Relevant to a held-out sample are its nearest training samples or, with labels, those of its class; then the
  // unlabelled (-1) take no part, neither searched for nor found.
  Selection(const Vectors& x, std::span<const std::int64_t> labels, HeldOut rows, int threads, Progress& progress);

  const HeldOut& rows() const { return rows_; }
  bool possible() const { return possible_; }

  // Of the codes of the training rows and of the held-out rows.
  HeldOutScore score(const TargetCodes& training, const TargetCodes& queries) const;
  // HeldOutScore::value() of some twenty parts of the held-out rows, of equal size up to one row.
  std::vector<double> part_scores(const TargetCodes& training, const TargetCodes& queries) const;

 private:
  HeldOutScore score_of(const Codes& training, const Codes& queries, const Relevance& relevance) const;

  HeldOut rows_;
  int threads_;
  std::vector<std::uint32_t> searched_;  // of the training rows, the places that take part ...
  std::vector<std::uint32_t> asked_;     // ... and of the held-out rows; empty: all
  std::vector<std::int32_t> neighbours_;
  std::size_t per_query_ = 0;
  bool possible_ = false;
  Relevance relevance_ = Relevance::neighbours({}, 0);
};

// Whether the mean of a - b is above its standard error: what is better by less may be so by chance.
bool is_clearly_better(const std::vector<double>& a, const std::vector<double>& b);

// Which of several candidates is kept, given the part_scores() of each: the first, unless others are clearly better
// than it; then the best of those. With few held-out samples, the best of all is often so by chance.
std::size_t choose_candidate(const std::vector<std::vector<double>>& scores);

// The mean over parts.
double mean_of_parts(const std::vector<double>& scores);

}  // namespace bdnn
