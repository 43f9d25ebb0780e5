#include "base/error.h"
#include "search/answer.h"
#include "search/content.h"

namespace bdnn {
namespace {

void check_filter(const Index& index, const Filter* filter) {
  if (filter != nullptr && !filter->fits(index)) misuse("the filter was made for another index; make one for this");
}

}  // namespace

struct Searcher::State {
  explicit State(int threads) : answerer(threads) {}
  Answerer answerer;
};

Searcher::Searcher(int threads) : state_(std::make_unique<State>(threads)) {}
Searcher::~Searcher() = default;
Searcher::Searcher(Searcher&&) noexcept = default;
Searcher& Searcher::operator=(Searcher&&) noexcept = default;

void Searcher::search(const Index& index, const Codes& queries, const SearchOptions& options, Results& results,
                      const Filter* filter) {
  const Index::Content& content = index.content();
  check_question(content.info.bits, content.info.origin, queries, options);
  check_filter(index, filter);
  results.clear();
  state_->answerer.answer(content.segments, queries, options, filter, results);
}

PlanEstimate Searcher::explain(const Index& index, std::size_t queries, const SearchOptions& options,
                               const Filter* filter) const {
  const Index::Content& content = index.content();
  check_plan(content.info.bits, options.plan);
  check_filter(index, filter);
  PlanEstimate total;
  const Segment* largest = nullptr;
  for (std::size_t s = 0; s < content.segments.size(); ++s) {
    const Segment& segment = content.segments[s];
    const auto allowed = filter == nullptr ? std::nullopt : std::optional(filter->count(s));
    const Workload workload =
        workload_of(segment, {options.k, options.radius}, queries, state_->answerer.threads(), allowed);
    const Estimate expected = estimate(segment, workload, options.plan);
    const bool scans = expected.plan == Plan::scan || segment.hash_tables.tables.empty();
    total.scan_microseconds += expected.scan / 1000;
    total.hash_table_microseconds += expected.hash_tables / 1000;
    total.microseconds += (scans ? expected.scan : expected.hash_tables) / 1000;
    if (largest == nullptr || segment.size() > largest->size()) {
      largest = &segment;
      total.plan = scans ? Plan::scan : expected.plan;
    }
    const auto through_hash_tables = segment.hash_tables.tables.empty()
                                         ? std::string("it has no tables")
                                         : fmt::format("through {} tables {:.3g} us", segment.hash_tables.tables.size(),
                                                       expected.hash_tables / 1000);
    const auto restricted = allowed ? fmt::format(", {} of them allowed", *allowed) : std::string();
    total.text += fmt::format(
        "{} codes of {} bits ({:.0f}% with an equal{}): {}; expected per query: scan{} {:.3g} us, {}\n", segment.size(),
        content.info.bits, 100 * segment.statistics.duplicates, restricted, name_of(scans ? Plan::scan : expected.plan),
        expected.gathers ? " of the allowed, put together," : "", expected.scan / 1000, through_hash_tables);
  }
  return total;
}

}  // namespace bdnn
