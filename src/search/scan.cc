#include "search/scan.h"

#include <algorithm>

namespace bdnn {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 19;  // stays in the second-level cache while queries take turns
constexpr std::size_t kQueriesPerUnit = 128;               // their counters stay there too
constexpr std::size_t kLeastCodesPerPart = std::size_t{1} << 16;
constexpr std::size_t kTrialShare = 8;      // of the tiles one in so many shows whether a guess is any good ...
constexpr std::size_t kTrialTolerance = 4;  // ... which it is not if so many times more should have been found

std::size_t divide_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// The work in units of some queries times a part of the codes.
struct Scan {
  const ScanSource& source;
  const RowFilter& filter;
  const Question& question;
  std::size_t guess;
  const PreparedQueries& queries;
  std::span<const std::uint32_t> which;
  ScanScratch& scratch;
  Collector* collectors;
  std::size_t queries_per_unit = 1;
  std::size_t parts = 1;
  std::size_t tiles_per_part = 0;

  std::size_t chunks() const { return divide_up(which.size(), queries_per_unit); }

  // The collector of query `which[i]` for a part; the first part collects where the answer is wanted.
  Collector& collector(std::size_t i, std::size_t part) const {
    return part == 0 ? collectors[which[i]] : scratch.parts[(part - 1) * which.size() + i];
  }

  // Whether any row of the tile may be returned.
  bool wanted(std::size_t tile) const {
    const std::size_t codes = source.layout.codes_per_tile();  // 32 at least, so a tile is half a word or whole words
    const std::size_t first = tile * codes;
    const std::size_t end = std::min(first + codes, source.count);
    if (codes == 32) return ((filter.word(first / 64) >> first % 64) & 0xffffffffU) != 0;
    for (std::size_t word = first / 64; word * 64 < end; ++word) {
      if (filter.word(word) != 0) return true;
    }
    return false;
  }

  void tiles(LookupRoom& lookup, std::span<ScanTask> tasks, const std::uint8_t* at, std::size_t first,
             std::size_t count) const {
    const auto row = static_cast<std::uint32_t>(first * source.layout.codes_per_tile());
    scan_tasks(source.layout, at, count, row, tasks.data(), tasks.size(), Collector::sink, lookup);
  }

  // Tiles [first, first + count) stand at `at`; those without a row that is wanted are passed over.
  void block(LookupRoom& lookup, std::span<ScanTask> tasks, const std::uint8_t* at, std::size_t first,
             std::size_t count) const {
    if (!filter.restricts()) return tiles(lookup, tasks, at, first, count);
    const std::size_t bytes = source.layout.bytes_per_tile();
    for (std::size_t from = 0; from < count;) {
      if (!wanted(first + from)) {
        ++from;
        continue;
      }
      std::size_t to = from + 1;
      while (to < count && wanted(first + to)) ++to;
      tiles(lookup, tasks, at + from * bytes, first + from, to - from);
      from = to;
    }
  }

  // Where tiles [first, first + count) stand, made on the way if they are not there.
  const std::uint8_t* block_at(ScanScratch::Worker& worker, std::size_t first, std::size_t count) const {
    const CodeLayout& layout = source.layout;
    if (source.tiles != nullptr) return source.tiles + first * layout.bytes_per_tile();
    const std::size_t row = first * layout.codes_per_tile();
    const std::uint8_t* packed = source.packed + row * layout.bytes_per_code();
    if (layout.is_packed() && row + count * layout.codes_per_tile() <= source.count) return packed;
    const std::size_t rows = std::min(count * layout.codes_per_tile(), source.count - row);
    if (worker.block.size() < layout.bytes(rows)) worker.block.resize(layout.bytes(rows));
    interleave(layout, packed, rows, worker.block.data());
    return worker.block.data();
  }

  // Tiles [from, to), a block at a time.
  void range(ScanScratch::Worker& worker, std::span<ScanTask> tasks, std::size_t from, std::size_t to) const {
    const std::size_t step = std::max<std::size_t>(kBlockBytes / source.layout.bytes_per_tile(), 1);
    for (std::size_t tile = from; tile < to; tile += step) {
      const std::size_t count = std::min(step, to - tile);
      block(worker.lookup, tasks, block_at(worker, tile, count), tile, count);
    }
  }

  void start(ScanTask& task, std::size_t within) const {
    auto& collector = *static_cast<Collector*>(task.collector);
    collector.start(question, source.layout.bits, Arrival::ascending, filter, within);
    task.below = collector.below();
  }

  // Whether nothing that any part left out because of a guess could be among the k nearest.
  bool is_answered(std::size_t i) const {
    std::size_t within = source.layout.bits;
    for (std::size_t part = 0; part < parts; ++part) within = std::min(within, collector(i, part).within());
    return within >= source.layout.bits || collector(i, 0).kth() <= within;
  }

  // Tiles [from, to) with a guess; queries that find too few in them go through them again without.
  void trial(ScanScratch::Worker& worker, std::size_t from, std::size_t to) const {
    range(worker, worker.tasks, from, to);
    const auto failed = std::partition(worker.tasks.begin(), worker.tasks.end(), [&](const ScanTask& task) {
      const std::size_t found = static_cast<const Collector*>(task.collector)->found();
      return found * kTrialShare * kTrialTolerance * parts < question.k;
    });
    const std::span again(worker.tasks.begin(), failed);
    for (ScanTask& task : again) start(task, source.layout.bits);
    if (!again.empty()) range(worker, again, from, to);
  }

  void unit(std::size_t number, int worker_number) const {
    const std::size_t part = number % parts;
    const std::size_t first = number / parts * queries_per_unit;
    const std::size_t end = std::min(first + queries_per_unit, which.size());
    auto& worker = scratch.workers[static_cast<std::size_t>(worker_number)];
    worker.tasks.clear();
    for (std::size_t i = first; i < end; ++i) {
      worker.tasks.push_back({queries[which[i]], &collector(i, part), 0});
      start(worker.tasks.back(), guess);
    }
    std::size_t from = part * tiles_per_part;
    const std::size_t to = std::min((part + 1) * tiles_per_part, source.layout.tiles(source.count));
    if (guess < source.layout.bits && from < to) {
      const std::size_t middle = from + (to - from) / kTrialShare;
      trial(worker, from, middle);
      from = middle;
    }
    range(worker, worker.tasks, from, to);
  }
};

}  // namespace

void scan(const ScanSource& source, const RowFilter& filter, const Question& question, std::size_t guess,
          const PreparedQueries& queries, std::span<const std::uint32_t> which, Threads& threads, ScanScratch& scratch,
          Collector* collectors) {
  if (which.empty()) return;
  const auto team = static_cast<std::size_t>(threads.count());
  Scan work{source, filter, question, guess, queries, which, scratch, collectors};
  work.queries_per_unit = std::clamp<std::size_t>(divide_up(which.size(), team), 1, kQueriesPerUnit);
  // Codes are split where there are fewer units than would keep all threads busy to the end.
  if (team > 1) {
    const std::size_t most = std::max<std::size_t>(source.count / kLeastCodesPerPart, 1);
    work.parts = std::clamp<std::size_t>(divide_up(2 * team, work.chunks()), 1, most);
  }
  work.tiles_per_part = divide_up(source.layout.tiles(source.count), work.parts);
  if (scratch.workers.size() < team) scratch.workers.resize(team);
  for (auto& worker : scratch.workers) worker.tasks.reserve(work.queries_per_unit);  // whichever worker gets the most
  const std::size_t more = (work.parts - 1) * which.size();
  if (scratch.parts.size() < more) scratch.parts.resize(more);
  const std::size_t units = work.chunks() * work.parts;
  if (team == 1 || units == 1) {
    for (std::size_t i = 0; i < units; ++i) work.unit(i, 0);
  } else {
    threads.for_each(units, [&work](std::size_t number, int worker) { work.unit(number, worker); });
  }
  // Parts follow each other by row, so the answer of a later one is offered to the first.
  for (std::size_t part = 1; part < work.parts; ++part) {
    for (std::size_t i = 0; i < which.size(); ++i) {
      const auto hits = work.collector(i, part).candidates();
      work.collector(i, 0).take(hits.data(), hits.size());
    }
  }
  if (guess >= source.layout.bits) return;
  scratch.again.clear();
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (!work.is_answered(i)) scratch.again.push_back(which[i]);
  }
  scan(source, filter, question, source.layout.bits, queries, scratch.again, threads, scratch, collectors);
}

}  // namespace bdnn
