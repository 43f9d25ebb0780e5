#include "bdnn/ground_truth.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "base/names.h"
#include "base/threads.h"
#include "evaluate/centred_vectors.h"
#include "evaluate/exact_distance.h"
#include "evaluate/select_kernel.h"
#include "linalg/product.h"

namespace bdnn {
namespace {

constexpr std::string_view kMetricNames[] = {"euclidean", "cosine"};
static_assert(std::size(kMetricNames) == std::size(kMetrics));

constexpr std::size_t kSpareCandidates = 256;

void check(const Vectors& database, const Vectors& queries, const GroundTruthOptions& options) {
  const std::size_t n = database.size();
  if (queries.size() == 0) misuse("there are no queries; give at least one");
  if (database.dimension() != queries.dimension()) {
    misuse("the queries have dimension {}, the database has {}; they must be the same", queries.dimension(),
           database.dimension());
  }
  if (database.dimension() == 0) misuse("the vectors have dimension 0; give at least one element each");
  if (n > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    misuse("the database has {} vectors; ids of neighbours are 32-bit, so give at most 2147483647", n);
  }
  if (options.k == 0) misuse("0 neighbours cannot be searched for; ask for at least 1");
  if (!options.self.empty() && options.self.size() != queries.size()) {
    misuse("{} ids to leave out were given for {} queries; give one per query", options.self.size(), queries.size());
  }
  bool leaves_out = false;
  for (std::size_t i = 0; i < options.self.size(); ++i) {
    const std::int64_t id = options.self[i];
    if (id < -1 || id >= static_cast<std::int64_t>(n)) {
      misuse("query {} leaves out id {}; ids are 0 to {}, and -1 means none", i, id, static_cast<std::int64_t>(n) - 1);
    }
    leaves_out |= id >= 0;
  }
  if (options.k > n - (leaves_out ? 1 : 0)) {
    misuse("{} neighbours are too many for a database of {} vectors{}; ask for at most {}", options.k, n,
           leaves_out ? ", one of which is left out" : "", n - (leaves_out ? 1 : 0));
  }
}

// Queries that a thread works on together: their product's left factor fits the second-level cache, and their
// candidates in the memory that ground_truth.h promises.
std::size_t queries_per_block(const Vectors& database, const Vectors& queries, std::size_t k, std::size_t threads) {
  constexpr std::size_t kFactorFloats = std::size_t{1} << 18;
  constexpr std::size_t kCandidates = (std::size_t{64} << 20) / sizeof(Candidate);
  const std::size_t n =
      std::min({kFactorFloats / queries.dimension(), kCandidates / std::min(2 * k + 512, database.size()),
                (queries.size() + threads - 1) / threads, std::size_t{384}});
  return std::max<std::size_t>(n / 32 * 32, std::min<std::size_t>(32, queries.size()));
}

// The search for the neighbours of one block of queries. Each thread has one object, which is reused.
class BlockSearch {
 public:
  BlockSearch(const Vectors& database, const Vectors& queries, const GroundTruthOptions& options,
              const CentredVectors& centred, std::size_t block, Progress& progress)
      : progress_(progress),
        database_size_(database.size()),
        queries_(queries),
        options_(options),
        centred_(centred),
        distances_(database, options.metric, centred.lengths()),
        padded_((block + kQueriesTogether - 1) / kQueriesTogether * kQueriesTogether),
        limit_(std::min(2 * options.k + kSpareCandidates, database.size())),
        capacity_(std::min(limit_ + centred.tile_size(), database.size())),
        extents_(padded_),
        thresholds_(padded_),
        guesses_(padded_),
        bounds_(padded_),
        self_(padded_),
        sizes_(padded_),
        candidates_(padded_ * capacity_),
        products_(padded_ * centred.tile_size()),
        tile_(centred.tile_size() * database.dimension()),
        order_(capacity_),
        exact_(capacity_) {}

  // The k nearest of queries [range), one after the other, to `ids`.
  void run(const Range& range, std::int32_t* ids) {
    rows_.resize(range.count);
    std::iota(rows_.begin(), rows_.end(), range.first);
    const auto write = [&] {
      std::vector<std::size_t> failed;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (!finish(i, ids + (rows_[i] - range.first) * options_.k)) failed.push_back(rows_[i]);
      }
      rows_ = std::move(failed);
    };
    scan(guess_rank() > 0);
    write();
    if (rows_.empty()) return;
    scan(false);
    write();
  }

 private:
  // Gathers the candidates of queries rows_.
  void scan(bool guess) {
    const auto left = start();
    if (guess) guess_thresholds(left);
    for (std::size_t t = 0; t < centred_.tiles(); ++t) {
      progress_.poll();  // a block of queries passes over the whole database, however large
      const Range columns = centred_.tile_range(t);
      const float* x = centred_.tile(t, tile_.data());
      multiply(left, x, columns.count, left.depth(), products_.data(), padded_);
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        bounds_[i] = static_cast<float>(thresholds_[i] + centred_.error_bound(extents_[i], t));
      }
      collect_within(products_.data(), centred_.square_norms() + columns.first, columns.count,
                     static_cast<std::int32_t>(columns.first), lists());
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (sizes_[i] > limit_) shrink(i);
      }
    }
  }

  CandidateLists lists() {
    return {padded_, capacity_, bounds_.data(), self_.data(), sizes_.data(), candidates_.data()};
  }

  // The left factor -2 Q'^T, and empty lists.
  PackedMatrix<float> start() {
    const std::size_t dimension = queries_.dimension();
    std::vector<float> centred(rows_.size() * dimension);
    std::fill(thresholds_.begin(), thresholds_.end(), std::numeric_limits<double>::infinity());
    std::fill(guesses_.begin(), guesses_.end(), std::numeric_limits<double>::infinity());
    std::fill(bounds_.begin(), bounds_.end(), -std::numeric_limits<float>::infinity());
    std::fill(self_.begin(), self_.end(), -1);
    std::fill(sizes_.begin(), sizes_.end(), 0);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      extents_[i] = centred_.centre_query(rows_[i], centred.data() + i * dimension);
      if (!options_.self.empty()) self_[i] = static_cast<std::int32_t>(options_.self[rows_[i]]);
    }
    for (float& value : centred) value *= -2;
    return PackedMatrix<float>::from_rows(centred.data(), rows_.size(), dimension, dimension);
  }

  // Many neighbours take long to gather where the threshold comes down step by step from infinity. If a sample of the
  // database that is small, yet holds enough of them, can tell where it will end: the rank in the sample. Else 0.
  std::size_t guess_rank() const {
    const double sample = static_cast<double>(limit_);
    const double expected = sample / static_cast<double>(database_size_) * static_cast<double>(options_.k);
    if (expected < 100 || limit_ > database_size_ / 32) return 0;
    return static_cast<std::size_t>(expected + 6 * std::sqrt(expected));
  }

  // Thresholds, rarely too small for a query; finish() detects that.
  void guess_thresholds(const PackedMatrix<float>& left) {
    const std::size_t step = database_size_ / limit_;
    std::vector<float> norms(centred_.tile_size());
    std::fill_n(bounds_.begin(), rows_.size(), std::numeric_limits<float>::infinity());
    for (std::size_t first = 0; first < limit_; first += centred_.tile_size()) {
      const std::size_t count = std::min(centred_.tile_size(), limit_ - first);
      centred_.sample(first * step, step, count, tile_.data());
      for (std::size_t j = 0; j < count; ++j) norms[j] = centred_.square_norms()[(first + j) * step];
      multiply(left, tile_.data(), count, left.depth(), products_.data(), padded_);
      collect_within(products_.data(), norms.data(), count, static_cast<std::int32_t>(first), lists());
    }
    const std::size_t rank = guess_rank();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (Candidate& candidate : list(i)) candidate.id *= static_cast<std::int32_t>(step);
      guesses_[i] = thresholds_[i] = kth_at_farthest(i, rank);
      sizes_[i] = 0;
    }
  }

  std::span<Candidate> list(std::size_t i) { return {candidates_.data() + i * capacity_, sizes_[i]}; }

  // Calls f(candidate, error bound) for all of a list, which is in ascending id.
  template <class F>
  void for_each_with_bound(std::size_t i, const F& f) {
    std::size_t tile = 0;
    std::int64_t end = -1;
    double bound = 0;
    for (const Candidate& candidate : list(i)) {
      if (candidate.id >= end) {
        tile = static_cast<std::size_t>(candidate.id) / centred_.tile_size();
        end = static_cast<std::int64_t>((tile + 1) * centred_.tile_size());
        bound = centred_.error_bound(extents_[i], tile);
      }
      f(candidate, bound);
    }
  }

  // The k-th smallest score, each as large as its error allows.
  double kth_at_farthest(std::size_t i, std::size_t k) {
    float* out = order_.data();
    for_each_with_bound(i, [&](const Candidate& c, double bound) {
      *out++ = static_cast<float>(static_cast<double>(c.score) + bound);
    });
    float* kth = order_.data() + k - 1;
    std::nth_element(order_.data(), kth, out);
    return static_cast<double>(*kth);
  }

  // Drops candidates that are certainly not among the k nearest: even their lower bound exceeds the k-th upper bound.
  // False if fewer than k are within the guessed threshold, so that some neighbours may have been dropped.
  bool drop_by_bound(std::size_t i) {
    if (sizes_[i] < options_.k) return false;
    const double kth = kth_at_farthest(i, options_.k);
    thresholds_[i] = std::min(thresholds_[i], kth);
    Candidate* kept = list(i).data();
    for_each_with_bound(i, [&](const Candidate& c, double bound) {
      *kept = c;
      kept += static_cast<double>(c.score) - bound <= thresholds_[i];
    });
    sizes_[i] = static_cast<std::uint32_t>(kept - list(i).data());
    return kth <= guesses_[i];
  }

  // The distances of a list, by which candidates are sorted: in double, or the scores if they are as good.
  void fill_exact(std::size_t i) {
    const auto candidates = list(i);
    if (centred_.largest_error_bound(extents_[i]) == 0) {
      for (std::size_t c = 0; c < candidates.size(); ++c) exact_[c] = {candidates[c].score, candidates[c]};
      return;
    }
    double_scratch_.resize(candidates.size());
    distances_.set_query(queries_, rows_[i]);
    distances_(candidates, double_scratch_.data());
    for (std::size_t c = 0; c < candidates.size(); ++c) exact_[c] = {double_scratch_[c], candidates[c]};
  }

  struct Exact {
    double distance;
    Candidate candidate;
    bool operator<(const Exact& other) const {
      return distance != other.distance ? distance < other.distance : candidate.id < other.candidate.id;
    }
  };

  // If the bound leaves too many, the distances in double decide: k are enough.
  void shrink(std::size_t i) {
    drop_by_bound(i);
    if (sizes_[i] <= limit_) return;
    fill_exact(i);
    const auto end = exact_.begin() + sizes_[i];
    const auto kth = exact_.begin() + static_cast<std::ptrdiff_t>(options_.k);
    std::nth_element(exact_.begin(), kth, end);
    std::sort(exact_.begin(), kth, [](const Exact& a, const Exact& b) { return a.candidate.id < b.candidate.id; });
    std::transform(exact_.begin(), kth, list(i).begin(), [](const Exact& e) { return e.candidate; });
    sizes_[i] = static_cast<std::uint32_t>(options_.k);
  }

  bool finish(std::size_t i, std::int32_t* ids) {
    if (!drop_by_bound(i)) return false;
    fill_exact(i);
    const auto kth = exact_.begin() + static_cast<std::ptrdiff_t>(options_.k);
    if (sizes_[i] > options_.k) std::nth_element(exact_.begin(), kth, exact_.begin() + sizes_[i]);
    std::sort(exact_.begin(), kth);
    std::transform(exact_.begin(), kth, ids, [](const Exact& e) { return e.candidate.id; });
    return true;
  }

  Progress& progress_;
  std::size_t database_size_;
  const Vectors& queries_;
  const GroundTruthOptions& options_;
  const CentredVectors& centred_;
  ExactDistances distances_;
  std::size_t padded_;             // queries, with those that fill up the last vector
  std::size_t limit_;              // a longer list is pruned
  std::size_t capacity_;           // and has room for a tile more
  std::vector<std::size_t> rows_;  // the current queries
  std::vector<Extent> extents_;
  std::vector<double> thresholds_;  // a true score above this is not among the k
  std::vector<double> guesses_;     // where the thresholds started
  std::vector<float> bounds_;       // thresholds for the scores of the current tile
  std::vector<std::int32_t> self_;
  std::vector<std::uint32_t> sizes_;
  std::vector<Candidate> candidates_;
  std::vector<float> products_;
  std::vector<float> tile_;
  std::vector<float> order_;
  std::vector<double> double_scratch_;
  std::vector<Exact> exact_;
};

}  // namespace

std::string_view name_of(Metric metric) { return kMetricNames[static_cast<std::size_t>(metric)]; }

Metric metric_by_name(const std::string& name) { return by_name(kMetrics, name, "metric"); }

GroundTruth exact_neighbours(const Vectors& database, const Vectors& queries, const GroundTruthOptions& options,
                             Progress& progress) {
  check(database, queries, options);
  Threads threads(options.threads, &progress);
  const CentredVectors centred(database, queries, options.metric, threads);
  const auto workers = static_cast<std::size_t>(threads.count());
  const std::size_t block = queries_per_block(database, queries, options.k, workers);
  GroundTruth truth{options.k, std::vector<std::int32_t>(queries.size() * options.k)};
  std::vector<std::unique_ptr<BlockSearch>> searches(workers);
  std::mutex mutex;
  std::size_t done = 0;
  threads.for_each((queries.size() + block - 1) / block, [&](std::size_t b, int worker) {
    auto& search = searches[static_cast<std::size_t>(worker)];
    if (!search) search = std::make_unique<BlockSearch>(database, queries, options, centred, block, progress);
    const Range range{b * block, std::min(block, queries.size() - b * block)};
    search->run(range, truth.ids.data() + range.first * options.k);
    const std::lock_guard lock(mutex);
    done += range.count;
    progress.update("queries", done, queries.size());
  });
  return truth;
}

}  // namespace bdnn
