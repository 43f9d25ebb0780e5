// True nearest neighbours, the reference for searches by codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bdnn/progress.h"
#include "bdnn/vectors.h"

namespace bdnn {

enum class Metric { euclidean, cosine };
inline constexpr Metric kMetrics[] = {Metric::euclidean, Metric::cosine};
std::string_view name_of(Metric metric);
Metric metric_by_name(const std::string& name);  // an unknown name raises Error and lists the valid ones

// The k nearest database vectors of each query, nearest first; ties by ascending id.
struct GroundTruth {
  std::size_t k = 0;
  std::vector<std::int32_t> ids;  // k per query

  std::size_t queries() const { return k == 0 ? 0 : ids.size() / k; }
  std::span<const std::int32_t> of(std::size_t query) const { return {ids.data() + query * k, k}; }
};

struct GroundTruthOptions {
  std::size_t k = 50;
  Metric metric = Metric::euclidean;
  std::vector<std::int64_t> self = {};  // empty, or for each query the database id to leave out (-1: none)
  int threads = 0;                      // 0: one per core
};

// Exhaustive search. Neighbours are ordered by their distance in double, summed in index order:
//   euclidean: sum (q - x)^2; cosine: 1 - dot(q, x) / (|q| |x|), where a zero vector raises Error.
//
// How: float products give every distance with a bounded error; only candidates that the bound cannot rule out are
// computed in double. So the result is exact, at little more than the cost of the product, and the same for any number
// of threads and any SIMD target. Data that defeats the bound (say, all vectors within a rounding error of each
// other) only takes longer.
//
// Memory: 4 bytes per database vector (cosine: 12); per thread, 8 bytes for each of 2 k + 512 candidates of a block of
// at most 384 queries (fewer if that exceeds 64 MiB), and about 3 MiB of scratch. uint8 and float32 are used as they
// are; a database of another element type is copied to float once.
GroundTruth exact_neighbours(const Vectors& database, const Vectors& queries, const GroundTruthOptions& options,
                             Progress& progress);

// Writes rows of int32: .ivecs or another format that holds them.
void save_ground_truth(const GroundTruth& truth, const std::string& path);

// Reads .ivecs, .npy, "file.hdf5:neighbors" or any other file of integers, the first k columns or all if k is 0. A file
// that does not fit the database and the queries raises Error.
GroundTruth load_ground_truth(const std::string& path, std::size_t database_size, std::size_t queries, std::size_t k);

// exact_neighbours(), cached in a folder under a name derived from the content of both inputs and the options. A
// damaged file is computed again. folder "": no cache.
GroundTruth cached_neighbours(const Vectors& database, const Vectors& queries, const GroundTruthOptions& options,
                              const std::string& folder, Progress& progress);

}  // namespace bdnn
