#include "methods/binary_network/selection.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/random.h"
#include "methods/binary_network/training_neighbours.h"

namespace bdnn {
namespace {

constexpr std::size_t kNeighbours = 50;

}  // namespace

HeldOut hold_out(std::size_t samples, std::span<const std::int64_t> labels, std::size_t queries, std::uint64_t seed) {
  queries = std::min(queries, samples / 10);
  Random random(seed);
  std::vector<bool> held(samples, false);
  for (std::size_t chosen = 0; chosen < queries;) {
    const std::size_t row = random.below(samples);
    if (held[row]) continue;
    held[row] = true;
    ++chosen;
  }
  std::map<std::int64_t, std::size_t> trained_on;
  for (std::size_t i = 0; i < labels.size(); ++i) trained_on[labels[i]] += held[i] ? 0 : 1;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!held[i] || trained_on[labels[i]] > 0) continue;
    held[i] = false;
    ++trained_on[labels[i]];
  }
  HeldOut rows;
  for (std::size_t i = 0; i < samples; ++i)
    (held[i] ? rows.queries : rows.training).push_back(static_cast<std::uint32_t>(i));
  return rows;
}

Selection::Selection(const Vectors& x, std::span<const std::int64_t> labels, HeldOut rows, int threads,
                     Progress& progress)
    : rows_(std::move(rows)), threads_(threads) {
  possible_ = !rows_.queries.empty();
  if (!possible_) return;
  if (!labels.empty()) {
    const auto labelled = [&](const std::vector<std::uint32_t>& of, std::vector<std::uint32_t>& places) {
      std::vector<std::int64_t> known;
      for (std::size_t i = 0; i < of.size(); ++i) {
        if (labels[of[i]] == -1) continue;
        known.push_back(labels[of[i]]);
        places.push_back(static_cast<std::uint32_t>(i));
      }
      if (places.size() == of.size()) places.clear();
      return known;
    };
    auto database = labelled(rows_.training, searched_);
    auto queries = labelled(rows_.queries, asked_);
    possible_ = !database.empty() && !queries.empty();
    relevance_ = Relevance::labels(std::move(database), std::move(queries));
    return;
  }
  const std::size_t wanted = std::min(kNeighbours, std::max<std::size_t>(1, rows_.training.size() / 10));
  NearestPlaces nearest = nearest_training_places(x, rows_.queries, rows_.training, wanted, threads, progress);
  neighbours_ = std::move(nearest.places);
  per_query_ = nearest.per_row;
  relevance_ = Relevance::neighbours(neighbours_, per_query_);
}

namespace {

// The codes at the given places, or all codes if there are no places.
Codes codes_at(const TargetCodes& b, const std::vector<std::uint32_t>& places) {
  if (places.empty()) return Codes(b.bits(), b.size(), b.bytes());
  std::vector<std::uint8_t> some;
  for (const std::size_t place : places) {
    const auto first = b.bytes().begin() + static_cast<std::ptrdiff_t>(place * b.stride());
    some.insert(some.end(), first, first + static_cast<std::ptrdiff_t>(b.stride()));
  }
  return Codes(b.bits(), places.size(), std::move(some));
}

// The same for the queries [first, last) alone.
Relevance part_of(const Relevance& relevance, std::size_t first, std::size_t last) {
  if (const auto* lists = std::get_if<Relevance::Neighbours>(&relevance.of)) {
    return Relevance::neighbours(lists->ids.subspan(first * lists->per_query, (last - first) * lists->per_query),
                                 lists->per_query);
  }
  const auto& labels = std::get<Relevance::Labels>(relevance.of);
  return Relevance::labels(labels.database, {labels.queries.begin() + static_cast<std::ptrdiff_t>(first),
                                             labels.queries.begin() + static_cast<std::ptrdiff_t>(last)});
}

}  // namespace

HeldOutScore Selection::score_of(const Codes& training, const Codes& queries, const Relevance& relevance) const {
  Progress silent;
  MetricsOptions options;
  const bool labels = std::holds_alternative<Relevance::Labels>(relevance.of);
  if (!labels) options.radii = {};
  options.threads = threads_;
  const MetricsResult result = evaluate_codes(training, queries, relevance, options, silent);
  HeldOutScore score{result.mean_average_precision};
  if (labels) score.precision = result.radii.front().precision;
  return score;
}

HeldOutScore Selection::score(const TargetCodes& training, const TargetCodes& queries) const {
  return score_of(codes_at(training, searched_), codes_at(queries, asked_), relevance_);
}

std::vector<double> Selection::part_scores(const TargetCodes& training, const TargetCodes& queries) const {
  constexpr std::size_t kParts = 20;
  const Codes searched = codes_at(training, searched_);
  const Codes asked = codes_at(queries, asked_);
  const std::size_t parts = std::min(kParts, asked.size());
  std::vector<double> scores;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = part * asked.size() / parts;
    const std::size_t last = (part + 1) * asked.size() / parts;
    scores.push_back(score_of(searched, asked.slice(first, last - first), part_of(relevance_, first, last)).value());
  }
  return scores;
}

bool is_clearly_better(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double gain = a[i] - b[i];
    sum += gain;
    squares += gain * gain;
  }
  const double mean = sum / n;
  const double variance = n > 1 ? std::max(0.0, (squares - n * mean * mean) / (n - 1)) : 0;
  return mean > std::sqrt(variance / n);
}

double mean_of_parts(const std::vector<double>& scores) {
  return std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
}

std::size_t choose_candidate(const std::vector<std::vector<double>>& scores) {
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < scores.size(); ++i) {
    if (is_clearly_better(scores[i], scores[0]) && mean_of_parts(scores[i]) > mean_of_parts(scores[chosen])) chosen = i;
  }
  return chosen;
}

}  // namespace bdnn
