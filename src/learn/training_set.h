// The samples a network is trained on, as it sees them: scaled, a few at a time, without a copy of the data.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "bdnn/vectors.h"
#include "linalg/matrix.h"

namespace bdnn {

// Samples are seen as (x - offset) * factor. One factor for all dimensions: distances keep their proportions.
struct Scaling {
  VectorXd offset;
  double factor = 1;
};

class TrainingSet {
 public:
  // The samples `rows` of x.
  TrainingSet(const Vectors& x, std::vector<std::uint32_t> rows, Scaling scaling);

  std::size_t size() const { return rows_.size(); }
  std::size_t dimension() const { return x_.dimension(); }
  const Vectors& vectors() const { return x_; }
  const std::vector<std::uint32_t>& rows() const { return rows_; }
  const Scaling& scaling() const { return scaling_; }

  // Samples [first, first + count) of the set, scaled: dimension() x count.
  void load(std::size_t first, std::size_t count, float* out) const;
  void load(std::size_t first, std::size_t count, double* out) const;
  // The samples order[0], order[1], ... of the set.
  void load(const std::uint32_t* order, std::size_t count, float* out) const;

  // How often the whole set has been read so far.
  double passes() const { return static_cast<double>(loaded_) / static_cast<double>(size()); }
  // Counts passes that were made without load().
  void count_passes(std::size_t passes) { loaded_ += passes * size(); }

 private:
  void load_one(std::uint32_t row, float* out) const;

  const Vectors& x_;
  std::vector<std::uint32_t> rows_;
  Scaling scaling_;
  std::vector<float> offset_;
  mutable std::atomic<std::uint64_t> loaded_{0};
};

}  // namespace bdnn
