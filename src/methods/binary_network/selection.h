// Model selection: some samples are held out of the training and used as queries against the others.
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
// At most a tenth of the samples is held out, and none if that is fewer than one. With labels (may be empty), each
// class keeps at least one sample to train on.
HeldOut hold_out(std::size_t samples, std::span<const std::int64_t> labels, std::size_t queries, std::uint64_t seed);

// The quality of codes on the held-out samples.
struct HeldOutScore {
  double average_precision = 0;          // mean over the held-out rows
  std::optional<double> precision = {};  // with labels: precision within Hamming distance 2

  // The criterion of the choice. Average precision alone would not notice classes whose codes are close together.
  double value() const { return precision ? (average_precision + *precision) / 2 : average_precision; }
};

class Selection {
 public:
  // Relevant to a held-out sample are its nearest training samples or, with labels, those of its class; with labels,
  // unlabelled samples (-1) are neither queries nor results.
  Selection(const Vectors& x, std::span<const std::int64_t> labels, HeldOut rows, int threads, Progress& progress);

  const HeldOut& rows() const { return rows_; }
  bool possible() const { return possible_; }

  // The score of the codes of the training rows and of the held-out rows.
  HeldOutScore score(const TargetCodes& training, const TargetCodes& queries) const;
  // HeldOutScore::value() of some twenty parts of the held-out rows, of equal size up to one row.
  std::vector<double> part_scores(const TargetCodes& training, const TargetCodes& queries) const;

 private:
  HeldOutScore score_of(const Codes& training, const Codes& queries, const Relevance& relevance) const;

  HeldOut rows_;
  int threads_;
  std::vector<std::uint32_t> searched_;  // places of the labelled training rows ...
  std::vector<std::uint32_t> asked_;     // ... and of the labelled held-out rows; empty: all
  std::vector<std::int32_t> neighbours_;
  std::size_t per_query_ = 0;
  bool possible_ = false;
  Relevance relevance_ = Relevance::neighbours({}, 0);
};

// Whether the mean of a - b exceeds its standard error; a smaller difference may be chance.
bool is_clearly_better(const std::vector<double>& a, const std::vector<double>& b);

// The candidate to keep, given the part_scores() of each: the first, unless others are clearly better than it; then the
// best of those. With few held-out samples, the best of all is often best by chance.
std::size_t choose_candidate(const std::vector<std::vector<double>>& scores);

// The mean over parts.
double mean_of_parts(const std::vector<double>& scores);

}  // namespace bdnn
