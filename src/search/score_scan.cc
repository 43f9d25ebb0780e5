// A scan in three steps, each of which lets few codes through to the next: sums of lookup tables rounded down to bytes,
// 64 codes at a time; sums of the lookup tables as they are, with the norm rounded down to 16 bits; the score itself.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

#include "base/blocks.h"
#include "base/error.h"
#include "codes/lookup_scan.h"
#include "coding/codes_match.h"
#include "search/code_scorer.h"

namespace bdnn {
namespace {

constexpr std::size_t kBlocksPerChunk = 64;   // between two looks at what was found
constexpr std::size_t kQueriesPerBatch = 32;  // that a chunk, once in the cache, is scanned for
constexpr std::size_t kSampledRuns = 32;      // parts of the database that the first bound comes from ...
constexpr std::size_t kBlocksPerRun = 8;      // ... and their length
constexpr double kUnits = 254;                // bytes up to this can be told apart from "more"
constexpr double kLeastUnit = 1e-300;         // that 1 can be divided by

// Codes and their norms as the steps need them.
struct Database {
  CodeScorer scorer;
  const CodeScores& scores;
  const HashEncoder& encoder;
  std::size_t size = 0;
  std::size_t code_bytes = 0;
  std::size_t rows = 0;  // bytes of a code, and one more for the upper half of its norm
  AlignedBuffer<std::uint8_t> blocks;
  std::vector<std::uint8_t> lower_norms;  // norm >= least_norm + step * (256 * upper + lower)
  double least_norm = 0;
  double step = 0;
  double slack = 0;  // a score is at most so much above what the second step makes of it

  Database(const CodeScorer& scorer, const Codes& database, Threads& threads);

  std::size_t block_count() const { return (size + kCodesPerLookupBlock - 1) / kCodesPerLookupBlock; }

  // The first byte of a code; the others follow kCodesPerLookupBlock bytes apart.
  const std::uint8_t* code(std::size_t i) const {
    return blocks.data() + i / kCodesPerLookupBlock * rows * kCodesPerLookupBlock + i % kCodesPerLookupBlock;
  }

  // The second step: no more than the score, and less by at most `slack`.
  double lower_bound(const LookupTables& tables, std::size_t i) const {
    const std::uint8_t* at = code(i);
    const double linear = tables.linear(at, kCodesPerLookupBlock);
    if (lower_norms.empty()) return linear;
    return linear + least_norm + step * (256.0 * at[code_bytes * kCodesPerLookupBlock] + lower_norms[i]);
  }
};

Database::Database(const CodeScorer& by, const Codes& database, Threads& threads)
    : scorer(by),
      scores(scorer.state().scores),
      encoder(scorer.state().encoder),
      size(database.size()),
      code_bytes(database.bytes_per_code()),
      rows(code_bytes + (scores.has_norms() ? 1 : 0)) {
  check_codes_match(encoder.bits(), scorer.state().fingerprint, database.bits(), database.origin());
  const std::size_t bytes = block_count() * rows * kCodesPerLookupBlock;
  blocks = AlignedBuffer<std::uint8_t>(bytes);
  if (scores.has_norms()) lower_norms.resize(size);

  struct Worker {
    CodeScores::Scratch scratch;
    std::vector<double> norms = std::vector<double>(kSamplesPerBlock);
    double least = std::numeric_limits<double>::max();
    double most = std::numeric_limits<double>::lowest();
  };
  std::vector<Worker> workers(static_cast<std::size_t>(threads.count()));
  const auto norms_of = [&](const Range& range, Worker& own) {
    scores.norms(database[range.first].data(), range.count, own.scratch, own.norms.data());
  };
  if (scores.has_norms()) {
    threads.for_each(blocks_of(size), [&](std::size_t block, int worker) {
      Worker& own = workers[static_cast<std::size_t>(worker)];
      const Range range = block_range(block, size);
      norms_of(range, own);
      const auto [least, most] = std::minmax_element(own.norms.begin(), own.norms.begin() + range.count);
      own.least = std::min(own.least, *least);
      own.most = std::max(own.most, *most);
    });
    double most = std::numeric_limits<double>::lowest();
    least_norm = std::numeric_limits<double>::max();
    for (const Worker& own : workers) {
      least_norm = std::min(least_norm, own.least);
      most = std::max(most, own.most);
    }
    if (size == 0) least_norm = most = 0;
    step = (most - least_norm) / 65535;
    // Rounding may put a norm a little beside its place; these are far larger than rounding.
    const double margin = 1e-9 * std::max(std::abs(most), std::abs(least_norm));
    slack = step + 2 * margin;
    least_norm -= margin;
  }
  static_assert(kSamplesPerBlock % kCodesPerLookupBlock == 0);
  threads.for_each(blocks_of(size), [&](std::size_t block, int worker) {
    Worker& own = workers[static_cast<std::size_t>(worker)];
    const Range range = block_range(block, size);
    if (scores.has_norms()) norms_of(range, own);
    for (std::size_t i = 0; i < range.count; i += kCodesPerLookupBlock) {
      const std::size_t first = range.first + i;
      std::uint8_t* out = blocks.data() + first * rows;
      std::fill_n(out, rows * kCodesPerLookupBlock, std::uint8_t{0});
      for (std::size_t lane = 0; lane < std::min(kCodesPerLookupBlock, range.count - i); ++lane) {
        const auto bytes_of = database[first + lane];
        for (std::size_t row = 0; row < code_bytes; ++row) out[row * kCodesPerLookupBlock + lane] = bytes_of[row];
        if (!scores.has_norms()) continue;
        const double place = step > 0 ? std::floor((own.norms[i + lane] - least_norm) / step) : 0;
        const auto norm = static_cast<unsigned>(std::clamp(place, 0.0, 65535.0));
        out[code_bytes * kCodesPerLookupBlock + lane] = static_cast<std::uint8_t>(norm >> 8);
        lower_norms[first + lane] = static_cast<std::uint8_t>(norm & 255);
      }
    }
  });
}

struct Candidate {
  double lower;  // than its score
  std::size_t id;
};

// One query on its way over a part of the database.
class QueryScan {
 public:
  // Takes another query, and keeps its memory. The query has a place in the batch's shared lookup tables, or none.
  void start(const Database& database, const LookupTables& tables, std::size_t k, std::uint8_t* shared) {
    database_ = &database;
    lookup_tables_ = &tables;
    k_ = k;
    enough_ = 2 * k + 64;
    bound_ = std::numeric_limits<double>::infinity();
    candidates_.clear();
    counts_.fill(0);
    shared_ = shared;
    size_ = shared != nullptr || tables.width == LookupWidth::eight_bits ? 256 : 16;
    if (shared != nullptr && tables.width == LookupWidth::four_bits) {
      join_halves();
    } else {
      pieces_.assign(tables.values.begin(), tables.values.end());
    }
    if (!database.lower_norms.empty()) add_norm_lookup_tables();
    if (shared == nullptr) values_.resize(pieces_.size());
    least_ = tables.constant + database.least_norm;
    most_ = least_;
    for (std::size_t i = 0; i < pieces_.size(); i += size_) {
      const auto [least, most] = std::minmax_element(pieces_.begin() + i, pieces_.begin() + i + size_);
      const double piece_least = *least;
      least_ += piece_least;
      most_ += *most;
      for (std::size_t value = 0; value < size_; ++value) pieces_[i + value] -= piece_least;
    }
    most_ += database.step * 256;
    round(most_);
  }

  // Takes the sums of some codes of a sample, which are `stride` apart.
  void count(const std::uint8_t* sums, std::size_t codes, std::size_t stride) {
    for (std::size_t i = 0; i < codes; ++i) ++counts_[sums[i * stride]];
  }

  // A bound on the k-th best score, from what a sample sums up to.
  void take_sample() {
    std::size_t within = 0;
    for (std::size_t sum = 0; sum < 255; ++sum) {
      within += counts_[sum];
      if (within < k_) continue;
      // Each lookup table was rounded down by less than a unit, and the lower byte of the norm has none.
      tighten_to(least_ + unit_ * static_cast<double>(sum + pieces_.size() / size_) + 255 * database_->step +
                 database_->slack);
      return;
    }
  }

  const std::uint8_t* values() const { return values_.data(); }

  ByteLookupTables byte_lookup_tables() {
    found_.resize(kBlocksPerChunk * kCodesPerLookupBlock);
    const double limit = std::floor((bound_ - least_) / unit_ + 1e-6);
    return {values_.data(), static_cast<std::uint8_t>(std::clamp(limit, 0.0, kUnits)), found_.data(), 0};
  }

  // Takes what a chunk gave.
  void take(const ByteLookupTables& chunk, std::size_t first) {
    for (std::size_t i = 0; i < chunk.found_count; ++i) {
      const std::size_t id = first + chunk.found[i];
      if (id >= database_->size) continue;  // fills up the last block
      const double lower = database_->lower_bound(*lookup_tables_, id);
      if (lower > bound_) continue;
      candidates_.push_back({lower, id});
      if (candidates_.size() >= enough_) tighten();
    }
  }

  // Adds what another part of the database gave.
  void take(const QueryScan& other) {
    candidates_.insert(candidates_.end(), other.candidates_.begin(), other.candidates_.end());
  }

  // Room for the last step; each thread has its own.
  struct LastStep {
    CodeScores::Scratch scores;
    std::vector<std::uint8_t> codes;
    std::vector<double> norms;
    std::vector<Ranked> ranked;
  };

  // The k best of what is left, by their scores.
  void best(const std::uint8_t* query_code, LastStep& step, Ranked* out) {
    if (candidates_.size() > k_) tighten();
    auto& [scratch, codes, norms, ranked] = step;
    codes.resize(candidates_.size() * database_->code_bytes);
    norms.resize(candidates_.size());
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const std::uint8_t* at = database_->code(candidates_[i].id);
      for (std::size_t row = 0; row < database_->code_bytes; ++row) {
        codes[i * database_->code_bytes + row] = at[row * kCodesPerLookupBlock];
      }
    }
    database_->scores.norms(codes.data(), candidates_.size(), scratch, norms.data());
    ranked.clear();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const std::span<const std::uint8_t> code(codes.data() + i * database_->code_bytes, database_->code_bytes);
      ranked.push_back({candidates_[i].id, lookup_tables_->linear(code.data()) + norms[i],
                        static_cast<std::uint32_t>(hamming_distance(code, {query_code, code.size()}))});
    }
    std::sort(ranked.begin(), ranked.end(),
              [](const Ranked& a, const Ranked& b) { return a.score != b.score ? a.score < b.score : a.id < b.id; });
    std::copy_n(ranked.begin(), k_, out);
  }

 private:
  // Of two lookup tables for four bits, one for eight.
  void join_halves() {
    const std::vector<double>& halves = lookup_tables_->values;
    pieces_.resize(halves.size() / 32 * 256);
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const double* byte = halves.data() + i / 256 * 32;
      pieces_[i] = byte[i % 16] + byte[16 + i % 256 / 16];
    }
  }

  // The upper byte of a norm takes part as one lookup table, or two, more.
  void add_norm_lookup_tables() {
    for (std::size_t place = 1; place < 256; place *= size_) {
      for (std::size_t value = 0; value < size_; ++value) {
        pieces_.push_back(database_->step * 256 * static_cast<double>(place * value));
      }
    }
  }

  void tighten() {
    const auto last = candidates_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    const auto less = [](const Candidate& a, const Candidate& b) { return a.lower < b.lower; };
    std::nth_element(candidates_.begin(), last, candidates_.end(), less);
    tighten_to(last->lower + database_->slack);
    std::erase_if(candidates_, [&](const Candidate& candidate) { return candidate.lower > bound_; });
    enough_ = std::max(2 * k_ + 64, 2 * candidates_.size());  // many may score the same
  }

  void tighten_to(double bound) {
    bound_ = std::min(bound_, bound);
    if (bound_ - least_ < 0.9 * (top_ - least_)) round(bound_);
  }

  // Makes bytes of the lookup tables, so that the largest that can be told stands for `top`.
  void round(double top) {
    top_ = top;
    unit_ = std::max((top - least_) / kUnits, kLeastUnit);
    const double units = 1 / unit_;
    const std::size_t stride = shared_ != nullptr ? kQueriesPerSharedScan : 1;
    std::uint8_t* values = shared_ != nullptr ? shared_ : values_.data();
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      values[i * stride] = static_cast<std::uint8_t>(std::min(255.0, pieces_[i] * units));  // rounds down: none is < 0
    }
  }

  const Database* database_ = nullptr;
  const LookupTables* lookup_tables_ = nullptr;
  std::size_t k_ = 0;
  std::size_t enough_ = 0;      // candidates to look for a tighter bound
  std::vector<double> pieces_;  // the lookup tables of the code and of its norm, each less its least value
  double least_ = 0;            // no score is below
  double most_ = 0;             // nor above
  double top_ = 0;
  double unit_ = 0;
  double bound_ = std::numeric_limits<double>::infinity();  // at least k codes score no more
  std::size_t size_ = 0;                                    // of a lookup table
  std::uint8_t* shared_ = nullptr;
  std::vector<std::uint8_t> values_;  // where they are not shared
  std::array<std::uint32_t, 256> counts_;
  std::vector<std::uint32_t> found_;
  std::vector<Candidate> candidates_;
};

// The queries of a batch on their way over a part of the database.
class BatchScan {
 public:
  QueryScan& operator[](std::size_t query) { return queries_[query]; }

  void start(const Database& database, const LookupTables* tables, std::size_t count, std::size_t k) {
    database_ = &database;
    count_ = count;
    k_ = k;
    shares_ = shares_lookup_tables(database.scores.width(), database.rows, count);
    const std::size_t size = database.rows * 256 * kQueriesPerSharedScan;
    if (shares_ && shared_size_ < size) {
      shared_ = AlignedBuffer<std::uint8_t>(size);
      shared_size_ = size;
    }
    for (std::size_t q = 0; q < count; ++q) {
      queries_[q].start(database, tables[q], k, shares_ ? shared_.data() + q : nullptr);
    }
  }

  void scan(std::size_t begin, std::size_t end) {
    sample(begin, end - begin);
    std::array<ByteLookupTables, kQueriesPerBatch> tables;
    for (std::size_t block = begin; block < end; block += kBlocksPerChunk) {
      for (std::size_t q = 0; q < count_; ++q) tables[q] = queries_[q].byte_lookup_tables();
      const std::size_t here = std::min(kBlocksPerChunk, end - block);
      const std::uint8_t* codes = database_->code(block * kCodesPerLookupBlock);
      if (shares_) {
        scan_shared_lookup_sums(codes, database_->rows, here, shared_.data(), tables.data(), count_);
      } else {
        for (std::size_t q = 0; q < count_; q += kQueriesPerLookupScan) {
          scan_lookup_sums(database_->scores.width(), codes, database_->rows, here, tables.data() + q,
                           std::min(kQueriesPerLookupScan, count_ - q));
        }
      }
      for (std::size_t q = 0; q < count_; ++q) queries_[q].take(tables[q], block * kCodesPerLookupBlock);
    }
  }

 private:
  static_assert(kQueriesPerBatch <= kQueriesPerSharedScan);

  // Gives each query a bound to begin with.
  void sample(std::size_t first_block, std::size_t blocks) {
    constexpr std::size_t kCodes = kBlocksPerRun * kCodesPerLookupBlock;
    if (blocks < 2 * kSampledRuns * kBlocksPerRun || kSampledRuns * kCodes < 2 * k_) return;
    std::array<std::uint8_t, kCodes * kQueriesPerSharedScan> sums;
    for (std::size_t run = 0; run < kSampledRuns; ++run) {
      const std::size_t block = first_block + run * (blocks / kSampledRuns);
      const std::uint8_t* codes = database_->code(block * kCodesPerLookupBlock);
      if (shares_) sum_shared_lookup_tables(codes, database_->rows, kBlocksPerRun, shared_.data(), sums.data());
      for (std::size_t q = 0; q < count_; ++q) {
        if (shares_) {
          queries_[q].count(sums.data() + q, kCodes, kQueriesPerSharedScan);
        } else {
          sum_lookup_tables(database_->scores.width(), codes, database_->rows, kBlocksPerRun, queries_[q].values(),
                            sums.data());
          queries_[q].count(sums.data(), kCodes, 1);
        }
      }
    }
    for (std::size_t q = 0; q < count_; ++q) queries_[q].take_sample();
  }

  const Database* database_ = nullptr;
  std::size_t count_ = 0;
  std::size_t k_ = 0;
  bool shares_ = false;  // lookup tables of all queries side by side
  std::size_t shared_size_ = 0;
  AlignedBuffer<std::uint8_t> shared_;
  std::vector<QueryScan> queries_ = std::vector<QueryScan>(kQueriesPerBatch);
};

}  // namespace

struct ScoreScan::State {
  Database database;
};

ScoreScan::ScoreScan(const CodeScorer& scorer, const Codes& database, int thread_count) {
  Threads threads(thread_count);
  state_ = Hidden(std::make_unique<State>(State{Database(scorer, database, threads)}));
}

ScoreScan::ScoreScan(const Model& model, RankBy by, const Codes& database, int thread_count)
    : ScoreScan(CodeScorer(model, by), database, thread_count) {}

ScoreScan::~ScoreScan() = default;
ScoreScan::ScoreScan(ScoreScan&&) noexcept = default;
ScoreScan& ScoreScan::operator=(ScoreScan&&) noexcept = default;

std::size_t ScoreScan::size() const { return state_->database.size; }
std::size_t ScoreScan::bytes() const {
  const Database& database = state_->database;
  return database.block_count() * database.rows * kCodesPerLookupBlock + database.lower_norms.size();
}

void ScoreScan::search(const Vectors& queries, std::size_t k, RankedResults& results, int threads) const {
  ScoreSearcher(threads).search(*this, queries, k, results);
}

struct ScoreSearcher::State {
  // Queries that are scanned for together.
  struct QueryBatch {
    std::vector<LookupTables> lookup_tables;
    std::vector<std::uint8_t> codes;
    std::vector<float> floats;
    CodeScores::Scratch scores;
    HashEncoder::Scratch encoding;
    std::mutex preparing;
    std::size_t left = 0;  // parts that are not done
    bool ready = false;
  };

  explicit State(int thread_count)
      : threads(thread_count),
        batches(static_cast<std::size_t>(threads.count())),
        scans(batches.size()),
        last_steps(batches.size()) {}

  Threads threads;
  // One of each per thread: a batch is worked on by one thread, or there are fewer batches than threads.
  std::vector<QueryBatch> batches;
  std::vector<BatchScan> scans;
  std::vector<QueryScan::LastStep> last_steps;
  std::vector<Ranked> ranked;
};

ScoreSearcher::ScoreSearcher(int threads) : state_(std::make_unique<State>(threads)) {}
ScoreSearcher::~ScoreSearcher() = default;
ScoreSearcher::ScoreSearcher(ScoreSearcher&&) noexcept = default;
ScoreSearcher& ScoreSearcher::operator=(ScoreSearcher&&) noexcept = default;

void ScoreSearcher::search(const ScoreScan& scan, const Vectors& queries, std::size_t k, RankedResults& results) {
  if (k == 0) misuse("0 neighbours were asked for; ask for at least 1");
  results.clear();
  State& state = *state_;
  const Database& database = scan.state_->database;
  k = std::min(k, database.size);
  const std::size_t batches = (queries.size() + kQueriesPerBatch - 1) / kQueriesPerBatch;
  const auto team = static_cast<std::size_t>(state.threads.count());
  // Few queries share the threads by parts of the database.
  const std::size_t chunks = (database.block_count() + kBlocksPerChunk - 1) / kBlocksPerChunk;
  const std::size_t parts =
      batches >= team || batches == 0 ? 1 : std::clamp<std::size_t>(chunks / 8, 1, team / batches);
  for (auto& batch : state.batches) batch.ready = false;
  state.ranked.resize(queries.size() * k);
  const auto work = [&](std::size_t task, int worker) {
    const std::size_t own = parts == 1 ? static_cast<std::size_t>(worker) : task;  // below `team` in both cases
    State::QueryBatch& batch = state.batches[parts == 1 ? own : task / parts];
    const std::size_t first = task / parts * kQueriesPerBatch;
    const std::size_t count = std::min(kQueriesPerBatch, queries.size() - first);
    {
      const std::lock_guard lock(batch.preparing);
      if (parts == 1 || !batch.ready) {
        const Vectors part = queries.slice(first, count);
        database.scores.lookup_tables(part, first, batch.scores, batch.lookup_tables);
        batch.codes.resize(count * database.code_bytes);
        batch.floats.resize(count * part.dimension());
        database.encoder.encode(part.floats(0, count, batch.floats.data()), count, batch.encoding, batch.codes.data());
        batch.left = parts;
        batch.ready = true;
      }
    }
    const std::size_t part = task % parts;
    const std::size_t begin = chunks * part / parts * kBlocksPerChunk;
    const std::size_t end = std::min(database.block_count(), chunks * (part + 1) / parts * kBlocksPerChunk);
    state.scans[own].start(database, batch.lookup_tables.data(), count, k);
    if (end > begin) state.scans[own].scan(begin, end);
    {
      const std::lock_guard lock(batch.preparing);
      if (--batch.left > 0) return;
    }
    const std::size_t first_part = parts == 1 ? own : task / parts * parts;
    for (std::size_t q = 0; q < count; ++q) {
      QueryScan& whole = state.scans[first_part][q];
      for (std::size_t other = 1; other < parts; ++other) whole.take(state.scans[first_part + other][q]);
      whole.best(batch.codes.data() + q * database.code_bytes, state.last_steps[static_cast<std::size_t>(worker)],
                 state.ranked.data() + (first + q) * k);
    }
  };
  state.threads.for_each(batches * parts, std::ref(work));  // by reference, which takes no memory
  for (std::size_t q = 0; q < queries.size(); ++q) results.append({state.ranked.data() + q * k, k});
}

}  // namespace bdnn
