#include "evaluate/average_precision.h"

#include <algorithm>

namespace bdnn {
namespace {

// Ranks before + 1 to before + length, of which each is relevant with the same chance, and which expect `slope` more
// relevant ones before them with each rank. A run of relevant ones is the case of chance 1 and slope 1.
struct Stretch {
  std::size_t before = 0;           // ranks before it ...
  std::size_t relevant_before = 0;  // ... and the relevant ones among them
  std::size_t length = 0;
  double chance = 1;
  double slope = 1;
};

Stretch stretch_of(const TieLevel& level, std::size_t before, std::size_t relevant_before, Ties ties,
                   std::size_t cutoff) {
  Stretch stretch{before, relevant_before, level.relevant};
  if (ties == Ties::worst) stretch.before += level.size - level.relevant;
  if (ties == Ties::expected) {
    stretch.length = level.size;
    stretch.chance = static_cast<double>(level.relevant) / static_cast<double>(level.size);
    // A level of one has no second rank for its slope to matter.
    stretch.slope =
        level.size > 1 ? static_cast<double>(level.relevant - 1) / static_cast<double>(level.size - 1) : 0.0;
  }
  stretch.length = stretch.before < cutoff ? std::min(stretch.length, cutoff - stretch.before) : 0;
  return stretch;
}

void add(const Stretch& s, const HarmonicNumbers& harmonic, AveragePrecision& sum) {
  if (s.length == 0) return;
  const auto n = static_cast<double>(s.before);
  const auto g = static_cast<double>(s.relevant_before);
  const auto length = static_cast<double>(s.length);
  const double h = harmonic.between(s.before, s.before + s.length);
  // The sum over t = 1 ... length of (g + 1 + (t - 1) slope) / (n + t), arranged so that both parts are positive.
  const double at = (g + 1) * h + s.slope * (length - (n + 1) * h);
  // Likewise of (g + (t - 1) slope) / (n + t - 1), where 0 / 0 counts as 1.
  double just_before = 1 + s.slope * (length - 1);
  if (s.before > 0) {
    const double shifted = h + length / (n * (n + length));
    just_before = g * shifted + s.slope * (length - n * shifted);
  }
  sum.standard += s.chance * at;
  sum.trapezoid += s.chance * (at + just_before) / 2;
}

// One relevant code at a known rank, the count-th relevant one.
void add(std::size_t rank, std::size_t count, AveragePrecision& sum) {
  const double at = static_cast<double>(count) / static_cast<double>(rank);
  const double just_before = rank > 1 ? static_cast<double>(count - 1) / static_cast<double>(rank - 1) : 1.0;
  sum.standard += at;
  sum.trapezoid += (at + just_before) / 2;
}

std::size_t clipped(std::size_t k, std::size_t before, std::size_t size) {
  return k > before ? std::min(k - before, size) : 0;
}

}  // namespace

HarmonicNumbers::HarmonicNumbers(std::size_t largest) : sums_(largest + 1) {
  for (std::size_t i = 1; i <= largest; ++i) {
    // Knuth's exact sum: what the rounding of `high` drops goes to `low`.
    const Sum last = sums_[i - 1];
    const double term = 1.0 / static_cast<double>(i);
    const double high = last.high + term;
    const double added = high - last.high;
    sums_[i] = {high, last.low + ((last.high - (high - added)) + (term - added))};
  }
}

AveragePrecision average_precision(const TieRanking& ranking, Ties ties, std::size_t cutoff,
                                   const HarmonicNumbers& harmonic) {
  AveragePrecision sum;
  if (ranking.relevant == 0) return sum;
  std::size_t before = 0;
  std::size_t relevant_before = 0;
  for (const TieLevel& level : ranking.levels) {
    if (before >= cutoff || relevant_before == ranking.relevant) break;
    if (ties == Ties::order) {
      for (std::size_t i = 0; i < level.relevant; ++i) {
        const std::size_t rank = before + ranking.places[relevant_before + i];
        if (rank > cutoff) break;
        add(rank, relevant_before + i + 1, sum);
      }
    } else if (level.relevant > 0) {
      add(stretch_of(level, before, relevant_before, ties, cutoff), harmonic, sum);
    }
    before += level.size;
    relevant_before += level.relevant;
  }
  sum.standard /= static_cast<double>(ranking.relevant);
  sum.trapezoid /= static_cast<double>(ranking.relevant);
  return sum;
}

double relevant_among_first(const TieRanking& ranking, Ties ties, std::size_t k) {
  std::size_t before = 0;
  std::size_t relevant_before = 0;
  auto level = ranking.levels.begin();
  for (; level != ranking.levels.end() && before + level->size <= k; ++level) {
    before += level->size;
    relevant_before += level->relevant;
  }
  const auto whole = static_cast<double>(relevant_before);
  if (level == ranking.levels.end()) return whole;
  const std::size_t cut = k - before;  // ranks left for this level, which has more codes
  const std::size_t others = level->size - level->relevant;
  switch (ties) {
    case Ties::expected:
      return whole + static_cast<double>(level->relevant) * static_cast<double>(cut) / static_cast<double>(level->size);
    case Ties::best: return whole + static_cast<double>(std::min(cut, level->relevant));
    case Ties::worst: return whole + static_cast<double>(clipped(cut, others, level->relevant));
    case Ties::order: break;
  }
  const auto places = ranking.places.begin() + static_cast<std::ptrdiff_t>(relevant_before);
  const auto end = places + static_cast<std::ptrdiff_t>(level->relevant);
  return whole + static_cast<double>(std::upper_bound(places, end, cut) - places);
}

double nearest_among_first(const TieRanking& ranking, Ties ties, std::size_t k) {
  std::size_t before = 0;
  for (std::size_t d = 0; d < ranking.nearest->distance; ++d) before += ranking.levels[d].size;
  const std::size_t size = ranking.levels[ranking.nearest->distance].size;
  const std::size_t cut = clipped(k, before, size);
  switch (ties) {
    case Ties::expected: return static_cast<double>(cut) / static_cast<double>(size);
    case Ties::best: return cut > 0 ? 1 : 0;
    case Ties::worst: return cut == size ? 1 : 0;
    case Ties::order: break;
  }
  return ranking.nearest->place <= cut ? 1 : 0;
}

}  // namespace bdnn
