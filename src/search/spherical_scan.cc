// Codes with the same number of bits set are ranked by Hamming distance alone, so they stand together, in a band, and
// each band is scanned as for Hamming distance with a threshold of its own. Bands whose number of set bits alone makes
// them too far are passed over.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "base/blocks.h"
#include "base/error.h"
#include "base/threads.h"
#include "bdnn/spherical.h"
#include "codes/hamming.h"
#include "codes/hamming_lookup.h"
#include "codes/spherical.h"
#include "coding/codes_match.h"
#include "linalg/aligned.h"
#include "search/queries.h"
#include "search/stored_codes.h"

namespace bdnn {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 19;  // stays in the second-level cache while queries take turns
constexpr std::size_t kQueriesPerBatch = 32;
constexpr std::size_t kLeastTilesPerPart = 1024;

// Codes with the same number of bits set.
struct Band {
  std::size_t ones = 0;
  std::size_t count = 0;
  const std::uint8_t* tiles = nullptr;
  const std::uint32_t* ids = nullptr;  // ascending
};

struct Found {
  std::uint64_t order = 0;
  std::uint32_t id = 0;
  std::uint16_t distance = 0;
  std::uint16_t common = 0;
};
bool nearer(const Found& a, const Found& b) { return a.order != b.order ? a.order < b.order : a.id < b.id; }

// The k nearest of one query so far.
class Nearest {
 public:
  void start(std::size_t k, std::size_t bits, std::size_t ones) {
    k_ = k;
    bits_ = bits;
    ones_ = ones;
    worst_ = {.order = std::numeric_limits<std::uint64_t>::max()};
    found_.clear();
  }

  // Whether some code of the band may be among the k nearest. If so, the band's hits come next.
  bool enter(const Band& band) {
    if (order_of(band.ones, least_distance(band.ones)) > worst_.order) return false;
    band_ = &band;
    below_ = threshold();
    return true;
  }
  std::uint32_t below() const { return below_; }

  std::uint32_t take(const Hit* hits, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const Hit& hit = hits[i];
      if (hit.row >= band_->count || hit.distance >= below_) continue;  // rows beyond the end fill up the last tile
      const std::size_t common = common_bits(ones_, band_->ones, hit.distance);
      const Found found{spherical_order(hit.distance, common, bits_), band_->ids[hit.row],
                        static_cast<std::uint16_t>(hit.distance), static_cast<std::uint16_t>(common)};
      if (!nearer(found, worst_)) continue;
      found_.push_back(found);
      if (found_.size() >= 2 * k_ + 64) tighten();
    }
    return below_;
  }
  static std::uint32_t sink(void* nearest, const Hit* hits, std::size_t count) {
    return static_cast<Nearest*>(nearest)->take(hits, count);
  }

  // Adds what another part of the database gave.
  void take(const Nearest& other) { found_.insert(found_.end(), other.found_.begin(), other.found_.end()); }

  // The k nearest, in their order.
  void finish(Ranked* out) {
    const auto end = found_.begin() + static_cast<std::ptrdiff_t>(k_);
    std::partial_sort(found_.begin(), end, found_.end(), nearer);
    for (std::size_t i = 0; i < k_; ++i) {
      const Found& found = found_[i];
      out[i] = {found.id, spherical_distance(found.distance, found.common, bits_), found.distance};
    }
  }

 private:
  std::size_t least_distance(std::size_t ones) const { return ones > ones_ ? ones - ones_ : ones_ - ones; }

  std::uint64_t order_of(std::size_t ones, std::size_t distance) const {
    return spherical_order(distance, common_bits(ones_, ones, distance), bits_);
  }

  // The least Hamming distance at which a code of the band is farther than the k-th nearest.
  std::uint32_t threshold() const {
    const std::size_t least = least_distance(band_->ones);
    const std::size_t sum = ones_ + band_->ones;
    const std::size_t most = std::min(sum, 2 * bits_ - sum);
    std::size_t from = 0;  // distances are least, least + 2, ..., most
    std::size_t to = (most - least) / 2 + 1;
    while (from < to) {
      const std::size_t middle = (from + to) / 2;
      if (order_of(band_->ones, least + 2 * middle) > worst_.order) {
        to = middle;
      } else {
        from = middle + 1;
      }
    }
    return static_cast<std::uint32_t>(least + 2 * from);
  }

  void tighten() {
    const auto last = found_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::nth_element(found_.begin(), last, found_.end(), nearer);
    worst_ = *last;
    found_.resize(k_);
    below_ = threshold();
  }

  std::size_t k_ = 0;
  std::size_t bits_ = 0;
  std::size_t ones_ = 0;
  Found worst_;  // no code that is farther is of interest
  std::uint32_t below_ = 0;
  const Band* band_ = nullptr;
  std::vector<Found> found_;
};

// Room for one unit of work; each thread has its own.
struct ScanRoom {
  std::vector<const std::uint8_t*> queries;
  std::vector<const Band*> nearest_first;
  std::vector<ScanTask> tasks;
  LookupRoom lookup;
};

}  // namespace

struct SphericalScan::State {
  CodeLayout layout;
  CodesOrigin origin;
  std::size_t size;
  AlignedBuffer<std::uint8_t> tiles;
  std::vector<std::uint32_t> ids;
  std::vector<Band> bands;

  State(const Codes& database, Threads& threads);

  // Searches for room.queries in a part of every band.
  void scan(std::span<Nearest> nearest, std::size_t ones, std::size_t part, std::size_t parts, ScanRoom& room) const;
};

SphericalScan::State::State(const Codes& database, Threads& threads)
    : layout(database.bits()), origin(database.origin()), size(database.size()) {
  if (size > std::numeric_limits<std::uint32_t>::max()) {
    misuse("the database has {} codes; at most {} can be searched by spherical distance", size,
           std::numeric_limits<std::uint32_t>::max());
  }
  const std::size_t bytes = database.bytes_per_code();
  std::vector<std::uint16_t> ones(size);
  threads.for_each(blocks_of(size), [&](std::size_t block, int) {
    const Range range = block_range(block, size);
    count_bits(database[range.first].data(), bytes, range.count, ones.data() + range.first);
  });
  std::vector<std::size_t> counts(database.bits() + 1);
  for (const std::uint16_t count : ones) ++counts[count];
  std::vector<std::size_t> next(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), next.begin(), std::size_t{0});
  ids.resize(size);
  for (std::size_t i = 0; i < size; ++i) ids[next[ones[i]]++] = static_cast<std::uint32_t>(i);

  std::size_t all_tiles = 0;
  for (const std::size_t count : counts) all_tiles += layout.tiles(count);
  tiles = AlignedBuffer<std::uint8_t>(all_tiles * layout.bytes_per_tile());
  struct Piece {  // of a band
    const std::uint32_t* ids;
    std::size_t count;
    std::uint8_t* tiles;
  };
  std::vector<Piece> pieces;
  std::uint8_t* at = tiles.data();
  const std::uint32_t* first = ids.data();
  const std::size_t most = std::max<std::size_t>(kBlockBytes / layout.bytes_per_tile(), 1) * layout.codes_per_tile();
  for (std::size_t count = 0; count < counts.size(); ++count) {
    if (counts[count] == 0) continue;
    bands.push_back({count, counts[count], at, first});
    for (std::size_t i = 0; i < counts[count]; i += most) {
      pieces.push_back({first + i, std::min(most, counts[count] - i), at + layout.bytes(i)});
    }
    at += layout.bytes(counts[count]);
    first += counts[count];
  }
  threads.for_each(pieces.size(), [&](std::size_t number, int) {
    const Piece& piece = pieces[number];
    std::vector<std::uint8_t> packed(piece.count * bytes);
    for (std::size_t i = 0; i < piece.count; ++i) {
      std::copy_n(database[piece.ids[i]].data(), bytes, packed.data() + i * bytes);
    }
    interleave(layout, packed.data(), piece.count, piece.tiles);
  });
}

void SphericalScan::State::scan(std::span<Nearest> nearest, std::size_t ones, std::size_t part, std::size_t parts,
                                ScanRoom& room) const {
  // Nearest bands first, as seen from a query with `ones` bits set: thresholds are low before most codes are met.
  room.nearest_first.clear();
  for (const Band& band : bands) room.nearest_first.push_back(&band);
  const auto least = [&](const Band* band) {
    const std::size_t distance = band->ones > ones ? band->ones - ones : ones - band->ones;
    return spherical_order(distance, std::min(band->ones, ones), layout.bits);
  };
  std::sort(room.nearest_first.begin(), room.nearest_first.end(),
            [&](const Band* a, const Band* b) { return std::pair(least(a), a->ones) < std::pair(least(b), b->ones); });
  const std::size_t step = std::max<std::size_t>(kBlockBytes / layout.bytes_per_tile(), 1);
  for (const Band* band : room.nearest_first) {
    room.tasks.clear();
    for (std::size_t q = 0; q < nearest.size(); ++q) {
      if (nearest[q].enter(*band)) room.tasks.push_back({room.queries[q], &nearest[q], nearest[q].below()});
    }
    if (room.tasks.empty()) continue;
    const std::size_t count = layout.tiles(band->count);
    const std::size_t end = count * (part + 1) / parts;
    for (std::size_t tile = count * part / parts; tile < end; tile += step) {
      scan_tasks(layout, band->tiles + tile * layout.bytes_per_tile(), std::min(step, end - tile),
                 static_cast<std::uint32_t>(tile * layout.codes_per_tile()), room.tasks.data(), room.tasks.size(),
                 Nearest::sink, room.lookup);
    }
  }
}

SphericalScan::SphericalScan(const Codes& database, int thread_count) {
  Threads threads(thread_count);
  state_ = Hidden(std::make_unique<State>(database, threads));
}
SphericalScan::~SphericalScan() = default;
SphericalScan::SphericalScan(SphericalScan&&) noexcept = default;
SphericalScan& SphericalScan::operator=(SphericalScan&&) noexcept = default;

std::size_t SphericalScan::size() const { return state_->size; }

void SphericalScan::search(const Codes& queries, std::size_t k, RankedResults& results, int threads) const {
  SphericalSearcher(threads).search(*this, queries, k, results);
}

struct SphericalSearcher::State {
  explicit State(int thread_count)
      : threads(thread_count), rooms(static_cast<std::size_t>(threads.count())), nearest(rooms.size()) {}

  Threads threads;
  std::vector<ScanRoom> rooms;  // one per thread
  // The queries of a batch in a part of the database; where there is one part, those that a thread is at.
  std::vector<std::vector<Nearest>> nearest;
  PreparedQueries queries;
  std::vector<std::uint16_t> ones;   // of the queries
  std::vector<std::size_t> by_ones;  // the queries in the order of these
};

SphericalSearcher::SphericalSearcher(int threads) : state_(std::make_unique<State>(threads)) {}
SphericalSearcher::~SphericalSearcher() = default;
SphericalSearcher::SphericalSearcher(SphericalSearcher&&) noexcept = default;
SphericalSearcher& SphericalSearcher::operator=(SphericalSearcher&&) noexcept = default;

void SphericalSearcher::search(const SphericalScan& scan, const Codes& queries, std::size_t k, RankedResults& results) {
  if (k == 0) misuse("0 neighbours were asked for; ask for at least 1");
  State& state = *state_;
  const SphericalScan::State& database = *scan.state_;
  check_queries_match(database.layout.bits, database.origin, queries);
  results.clear();
  k = std::min(k, database.size);
  for (std::size_t q = 0; q < queries.size(); ++q) results.append_blank(k);
  if (k == 0) return;

  const std::size_t bits = database.layout.bits;
  const auto team = static_cast<std::size_t>(state.threads.count());
  state.queries.assign(queries, 0, queries.size());
  state.ones.resize(queries.size());
  count_bits(queries.data(), queries.bytes_per_code(), queries.size(), state.ones.data());
  // Queries of a batch have about as many bits set, so that the same bands are near to all of them.
  const auto& ones = state.ones;
  auto& by_ones = state.by_ones;
  by_ones.resize(queries.size());
  std::iota(by_ones.begin(), by_ones.end(), std::size_t{0});
  std::sort(by_ones.begin(), by_ones.end(),
            [&](std::size_t a, std::size_t b) { return std::pair(ones[a], a) < std::pair(ones[b], b); });

  const std::size_t per_batch = std::clamp<std::size_t>((queries.size() + team - 1) / team, 1, kQueriesPerBatch);
  const std::size_t batches = (queries.size() + per_batch - 1) / per_batch;
  // Few queries share the threads by parts of the database.
  const std::size_t tiles = database.layout.tiles(database.size);
  const std::size_t parts =
      batches == 0 || batches >= team ? 1 : std::clamp<std::size_t>(tiles / kLeastTilesPerPart, 1, team);
  if (parts > 1 && state.nearest.size() < batches * parts) state.nearest.resize(batches * parts);
  const auto work = [&](std::size_t unit, int worker) {
    ScanRoom& room = state.rooms[static_cast<std::size_t>(worker)];
    const std::size_t first = unit / parts * per_batch;
    const std::size_t count = std::min(per_batch, queries.size() - first);
    std::vector<Nearest>& queries_here = state.nearest[parts == 1 ? static_cast<std::size_t>(worker) : unit];
    if (queries_here.size() < count) queries_here.resize(count);
    const std::span own(queries_here.data(), count);
    room.queries.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t q = by_ones[first + i];
      own[i].start(k, bits, ones[q]);
      room.queries.push_back(state.queries[q]);
    }
    database.scan(own, ones[by_ones[first + count / 2]], unit % parts, parts, room);
    if (parts > 1) return;
    for (std::size_t i = 0; i < count; ++i) own[i].finish(results.list(by_ones[first + i]).data());
  };
  state.threads.for_each(batches * parts, std::ref(work));  // by reference, which takes no memory
  for (std::size_t q = 0; parts > 1 && q < queries.size(); ++q) {
    const auto nearest_in = [&](std::size_t part) -> Nearest& {
      return state.nearest[q / per_batch * parts + part][q % per_batch];
    };
    for (std::size_t part = 1; part < parts; ++part) nearest_in(0).take(nearest_in(part));
    nearest_in(0).finish(results.list(by_ones[q]).data());
  }
}

struct SphericalRanking::State {
  StoredCodes codes;
  Codes queries;
  std::vector<std::uint16_t> ones;  // of the queries

  State(StoredCodes of, const Codes& with) : codes(std::move(of)), queries(with), ones(count_bits(with)) {
    check_queries_match(codes.bits(), codes.origin(), queries);
  }
};

SphericalRanking::SphericalRanking(const Codes& codes, const Codes& queries)
    : state_(std::make_unique<State>(StoredCodes(codes), queries)) {}
SphericalRanking::SphericalRanking(const Index& index, const Codes& queries)
    : state_(std::make_unique<State>(StoredCodes(index), queries)) {}
SphericalRanking::~SphericalRanking() = default;

void SphericalRanking::score(std::size_t query, std::span<const Neighbour> shortlist, double* scores) const {
  const Codes& queries = state_->queries;
  if (query >= queries.size()) misuse("query {} is out of range; there are {} queries", query, queries.size());
  std::uint8_t code[bytes_for_bits(kMaxBits)];
  for (std::size_t i = 0; i < shortlist.size(); ++i) {
    const std::uint64_t id = shortlist[i].id;
    if (!state_->codes.fetch(id, code)) misuse("there is no code to rank id {} by", id);
    std::uint16_t differing = 0;
    std::uint16_t ones = 0;
    hamming_distances(queries[query].data(), code, queries.bytes_per_code(), 1, &differing);
    count_bits(code, queries.bytes_per_code(), 1, &ones);
    scores[i] = spherical_distance(differing, common_bits(state_->ones[query], ones, differing), queries.bits());
  }
}

}  // namespace bdnn
