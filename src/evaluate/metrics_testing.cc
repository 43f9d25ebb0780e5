#include "evaluate/metrics_testing.h"

#include <algorithm>
#include <utility>

namespace bdnn {
namespace {

// The same values of one ranking, read off rank by rank.
std::vector<double> naive_values(const std::vector<Item>& ranked, std::size_t bits, const MetricsOptions& options) {
  const auto share = [](double part, double whole) { return whole == 0 ? 0.0 : part / whole; };
  const auto all = static_cast<double>(std::count_if(ranked.begin(), ranked.end(), [](auto& i) { return i.relevant; }));
  double standard = 0, trapezoid = 0, found = 0, old_precision = 1, old_recall = 0;
  for (std::size_t i = 0; i < ranked.size() && (options.cutoff == 0 || i < options.cutoff); ++i) {
    if (ranked[i].relevant) ++found;
    const double precision = found / static_cast<double>(i + 1);
    const double recall = share(found, all);
    if (ranked[i].relevant) standard += precision / all;
    trapezoid += (recall - old_recall) * ((old_precision + precision) / 2);
    old_precision = precision;
    old_recall = recall;
  }
  std::vector<double> result = {standard, trapezoid};
  std::vector<std::size_t> radii = options.radii;
  for (std::size_t r = 0; options.curve && r <= bits; ++r) radii.push_back(r);
  for (const std::size_t radius : radii) {
    double within = 0, relevant = 0;
    for (const Item& item : ranked) {
      within += item.distance <= radius ? 1 : 0;
      relevant += item.distance <= radius && item.relevant ? 1 : 0;
    }
    result.insert(result.end(), {share(relevant, within), share(relevant, all), within == 0 ? 1.0 : 0.0, within});
  }
  for (const std::size_t k : options.at) {
    double relevant = 0, nearest = 0;
    for (std::size_t i = 0; i < k; ++i) {
      relevant += ranked[i].relevant ? 1 : 0;
      nearest += ranked[i].nearest ? 1 : 0;
    }
    result.insert(result.end(), {relevant / static_cast<double>(k), share(relevant, all), nearest});
  }
  return result;
}

// Goes on to the next order within ties, in the manner of an odometer; false after the last.
bool next_order(std::vector<Item>& items) {
  const auto by_id = [](const Item& a, const Item& b) { return a.id < b.id; };
  for (auto end = items.end(); end != items.begin();) {
    auto first = end - 1;
    while (first != items.begin() && (first - 1)->distance == (end - 1)->distance) --first;
    if (std::next_permutation(first, end, by_id)) return true;
    end = first;
  }
  return false;
}

}  // namespace

std::vector<double> values(const MetricsResult& result) {
  std::vector<double> all = {result.mean_average_precision, result.mean_average_precision_trapezoid};
  for (const auto* radii : {&result.radii, &result.curve}) {
    for (const auto& r : *radii) all.insert(all.end(), {r.precision, r.recall, r.empty, r.looked_at});
  }
  for (const auto& r : result.ranks) all.insert(all.end(), {r.precision, r.recall, r.nearest.value_or(0)});
  return all;
}

std::vector<Item> items_of(const Codes& database, const Codes& queries, const Relevance& relevance, std::size_t query) {
  std::vector<Item> items;
  for (std::size_t id = 0; id < database.size(); ++id) {
    if (!relevance.self.empty() && relevance.self[query] == static_cast<std::int64_t>(id)) continue;
    Item item{0, id, false, false};
    for (std::size_t b = 0; b < database.bits(); ++b) {
      item.distance += ((database[id][b / 8] ^ queries[query][b / 8]) >> b % 8) & 1;
    }
    if (const auto* lists = std::get_if<Relevance::Neighbours>(&relevance.of)) {
      const auto list = lists->ids.subspan(query * lists->per_query, lists->per_query);
      item.relevant = std::find(list.begin(), list.end(), static_cast<std::int32_t>(id)) != list.end();
      item.nearest = list[0] == static_cast<std::int32_t>(id);
    } else {
      const auto& labels = std::get<Relevance::Labels>(relevance.of);
      item.relevant = labels.database[id] == labels.queries[query];
    }
    items.push_back(item);
  }
  return items;
}

std::vector<double> naive_values(std::vector<std::vector<Item>> rankings, std::size_t bits,
                                 const MetricsOptions& options) {
  std::vector<double> sums;
  const auto add = [&sums](const std::vector<double>& terms, double weight) {
    sums.resize(terms.size());
    for (std::size_t i = 0; i < terms.size(); ++i) sums[i] += weight * terms[i];
  };
  const double weight = 1 / static_cast<double>(rankings.size());
  for (auto& items : rankings) {
    const auto key = [&](const Item& item) {
      const int merit = (item.relevant ? 1 : 0) + (item.nearest ? 1 : 0);
      const int within = options.ties == Ties::best ? -merit : options.ties == Ties::worst ? merit : 0;
      return std::pair(item.distance, within);
    };
    std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) { return key(a) < key(b); });
    if (options.ties != Ties::expected) {
      add(naive_values(items, bits, options), weight);
      continue;
    }
    double orders = 0;
    auto counted = items;
    do ++orders;
    while (next_order(counted));
    do add(naive_values(items, bits, options), weight / orders);
    while (next_order(items));
  }
  return sums;
}

std::vector<double> naive_values(const Codes& database, const Codes& queries, const Relevance& relevance,
                                 const MetricsOptions& options) {
  std::vector<std::vector<Item>> rankings;
  for (std::size_t query = 0; query < queries.size(); ++query) {
    rankings.push_back(items_of(database, queries, relevance, query));
  }
  return naive_values(std::move(rankings), database.bits(), options);
}

}  // namespace bdnn
