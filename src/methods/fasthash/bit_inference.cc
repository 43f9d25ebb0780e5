#include "methods/fasthash/bit_inference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "bdnn/codes.h"
#include "codes/hamming.h"

namespace bdnn {
namespace {

constexpr std::size_t kMostClassesExactly = 16;
constexpr int kDescents = 32;  // from random starts, for more classes
constexpr int kMostRounds = 20;
constexpr double kTolerance = 1e-9;  // share of the whole weight that is taken for rounding

// min over z of sum over a < b of W_ab [z_a != z_b], W being symmetric. All z, one flip from the last (a Gray code); z
// of the first is +1.
std::vector<std::int8_t> best_of_all(const std::vector<double>& w, std::size_t n) {
  std::vector<std::int8_t> z(n, 1);
  std::vector<std::int8_t> best = z;
  double value = 0;
  double least = 0;
  for (std::uint32_t step = 1; step < std::uint32_t{1} << (n - 1); ++step) {
    std::size_t a = 1;
    while ((step >> (a - 1) & 1U) == 0) ++a;
    for (std::size_t b = 0; b < n; ++b) {
      if (b != a) value += z[a] == z[b] ? w[a * n + b] : -w[a * n + b];
    }
    z[a] = static_cast<std::int8_t>(-z[a]);
    if (value < least) {
      least = value;
      best = z;
    }
  }
  return best;
}

// The same by flips that lower it, from random starts.
std::vector<std::int8_t> best_of_descents(const std::vector<double>& w, std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int8_t> best(n, 1);
  double least = std::numeric_limits<double>::infinity();
  double scale = 0;
  for (const double value : w) scale += std::abs(value);
  for (int descent = 0; descent < kDescents; ++descent) {
    std::vector<std::int8_t> z(n);
    for (auto& bit : z) bit = random.below(2) == 1 ? std::int8_t{1} : std::int8_t{-1};
    bool changed = true;
    while (changed) {
      changed = false;
      for (std::size_t a = 0; a < n; ++a) {
        double rise = 0;
        for (std::size_t b = 0; b < n; ++b) {
          if (b != a) rise += z[a] == z[b] ? w[a * n + b] : -w[a * n + b];
        }
        if (rise >= -kTolerance * scale) continue;
        z[a] = static_cast<std::int8_t>(-z[a]);
        changed = true;
      }
    }
    double value = 0;
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < a; ++b) value += z[a] == z[b] ? 0 : w[a * n + b];
    }
    if (value < least) {
      least = value;
      best = std::move(z);
    }
  }
  return best;
}

}  // namespace

double pair_loss(PairLoss loss, bool same_class, double bits, double distance) {
  const auto square = [](double value) { return value * value; };
  const double squared = square(2 * (same_class ? distance : bits - distance));
  if (loss == PairLoss::squared) return squared;
  constexpr double kTieBreak = 1e-3;
  return square(same_class ? distance : std::max(0.0, bits / 2 - distance)) + kTieBreak * squared;
}

// For each group, the sum over the others h of couplings times z_h, of its own class and of other ones.
struct GroupedPairs::Fields {
  std::vector<double> own;
  std::vector<double> other;
};

GroupedPairs::GroupedPairs(std::vector<CodeGroup> groups, std::vector<std::uint8_t> codes, std::size_t bits,
                           std::span<const std::size_t> class_sizes, PairLoss loss, Threads& threads)
    : groups_(std::move(groups)),
      codes_(std::move(codes)),
      bytes_(codes_.size() / groups_.size()),
      classes_(class_sizes.size()),
      by_class_(groups_.size() * class_sizes.size(), 0.0) {
  double samples = 0;
  for (const std::size_t size : class_sizes) samples += static_cast<double>(size);
  for (const std::size_t size : class_sizes) {
    within_.push_back(1 / static_cast<double>(size));
    across_.push_back(0.5 / (samples - static_cast<double>(size)));
  }
  const auto now = static_cast<double>(bits + 1);
  for (std::size_t d = 0; d <= bits; ++d) {
    const auto distance = static_cast<double>(d);
    same_at_.push_back(pair_loss(loss, true, now, distance));
    different_at_.push_back(pair_loss(loss, false, now, distance));
    same_.push_back(pair_loss(loss, true, now, distance + 1) - same_at_.back());
    different_.push_back(pair_loss(loss, false, now, distance + 1) - different_at_.back());
  }
  std::vector<double> base(groups_.size());
  std::vector<double> weight(groups_.size());
  threads.for_each(groups_.size(), [&](std::size_t g, int) {
    const std::vector<std::uint16_t> distances = distances_to(code(g));
    double* by_class = by_class_.data() + g * classes_;
    const std::int32_t own = groups_[g].of_class;
    for (std::size_t h = 0; h < groups_.size(); ++h) {
      const std::int32_t other = groups_[h].of_class;
      const std::uint16_t d = distances[h];
      const double pairs = groups_[h].count * (own == other ? within_[static_cast<std::size_t>(own)]
                                                            : across_[static_cast<std::size_t>(own)] +
                                                                  across_[static_cast<std::size_t>(other)]);
      base[g] += pairs * (own == other ? same_at_[d] : different_at_[d]);
      weight[g] += pairs;
      if (h != g) by_class[other] += groups_[h].count * coupling(own, other, d);
    }
  });
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    base_ += groups_[g].count * base[g];
    weight_ += groups_[g].count * weight[g];
  }
}

std::vector<std::uint16_t> GroupedPairs::distances_to(const std::uint8_t* code) const {
  std::vector<std::uint16_t> distances(groups_.size());
  hamming_distances(code, codes_.data(), bytes_, groups_.size(), distances.data());
  return distances;
}

double GroupedPairs::objective(const std::vector<std::int8_t>& z) const {
  double sum = base_;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::vector<std::uint16_t> distances = distances_to(code(g));
    double rise = 0;
    for (std::size_t h = 0; h < groups_.size(); ++h) {
      if (z[g] == z[h]) continue;
      rise += groups_[h].count * coupling(groups_[g].of_class, groups_[h].of_class, distances[h]);
    }
    sum += groups_[g].count * rise;
  }
  return std::max(0.0, sum / weight_);  // rounding may leave less than nothing
}

std::int8_t GroupedPairs::best_bit(std::int32_t of_class, const std::uint8_t* code,
                                   const std::vector<std::int8_t>& z) const {
  const std::vector<std::uint16_t> distances = distances_to(code);
  double sum = 0;
  for (std::size_t h = 0; h < groups_.size(); ++h) {
    sum += z[h] * groups_[h].count * coupling(of_class, groups_[h].of_class, distances[h]);
  }
  return sum >= 0 ? std::int8_t{1} : std::int8_t{-1};
}

std::vector<std::int8_t> GroupedPairs::best_classes(std::uint64_t seed) const {
  std::vector<double> w(classes_ * classes_, 0.0);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    double* row = w.data() + static_cast<std::size_t>(groups_[g].of_class) * classes_;
    for (std::size_t c = 0; c < classes_; ++c) row[c] += groups_[g].count * by_class_[g * classes_ + c];
  }
  return classes_ <= kMostClassesExactly ? best_of_all(w, classes_) : best_of_descents(w, classes_, seed);
}

void GroupedPairs::flip(std::size_t group, std::vector<std::int8_t>& z, Fields& fields) const {
  z[group] = static_cast<std::int8_t>(-z[group]);
  const std::vector<std::uint16_t> distances = distances_to(code(group));
  const CodeGroup& own = groups_[group];
  for (std::size_t h = 0; h < groups_.size(); ++h) {
    if (h == group) continue;
    const CodeGroup& other = groups_[h];
    const double change = 2 * z[group] * own.count * other.count * coupling(own.of_class, other.of_class, distances[h]);
    (own.of_class == other.of_class ? fields.own : fields.other)[h] += change;
  }
}

GroupedPairs::Fields GroupedPairs::fields_of(const std::vector<std::int8_t>& z) const {
  Fields fields{std::vector<double>(z.size()), std::vector<double>(z.size())};
  for (std::size_t g = 0; g < z.size(); ++g) {
    const std::vector<std::uint16_t> distances = distances_to(code(g));
    const CodeGroup& own = groups_[g];
    for (std::size_t h = 0; h < z.size(); ++h) {
      if (h == g) continue;
      const CodeGroup& other = groups_[h];
      (own.of_class == other.of_class ? fields.own : fields.other)[g] +=
          z[h] * own.count * other.count * coupling(own.of_class, other.of_class, distances[h]);
    }
  }
  return fields;
}

std::vector<std::int8_t> GroupedPairs::solve(std::uint64_t seed, std::vector<double>* stages) const {
  const std::vector<std::int8_t> of_class = best_classes(seed);
  std::vector<std::int8_t> z;
  for (const CodeGroup& group : groups_) z.push_back(of_class[static_cast<std::size_t>(group.of_class)]);
  return descend(std::move(z), stages);
}

std::vector<std::int8_t> GroupedPairs::descend(std::vector<std::int8_t> z, std::vector<double>* stages) const {
  Fields fields = fields_of(z);
  std::vector<std::vector<std::size_t>> members(classes_);
  for (std::size_t g = 0; g < z.size(); ++g) members[static_cast<std::size_t>(groups_[g].of_class)].push_back(g);
  if (stages != nullptr) stages->push_back(objective(z));
  const double rounding = kTolerance * weight_;
  bool changed = true;
  for (int round = 0; changed && round < kMostRounds; ++round) {
    changed = false;
    for (std::size_t g = 0; g < z.size(); ++g) {
      if (z[g] * (fields.own[g] + fields.other[g]) >= -rounding) continue;
      flip(g, z, fields);
      changed = true;
    }
    for (const auto& groups : members) {
      double rise = 0;  // flipped together, pairs within the class stay as they are
      for (const std::size_t g : groups) rise += z[g] * fields.other[g];
      if (rise >= -rounding) continue;
      for (const std::size_t g : groups) flip(g, z, fields);
      changed = true;
    }
    if (stages != nullptr) stages->push_back(objective(z));
  }
  return z;
}

BitInference::BitInference(const ClassLabels& labels, std::size_t bits, PairLoss loss, std::uint64_t seed,
                           Threads& threads, std::size_t most_groups)
    : labels_(labels),
      loss_(loss),
      seed_(seed),
      threads_(threads),
      most_groups_(most_groups),
      bytes_(bytes_for_bits(bits)) {
  for (std::size_t c = 0; c < labels.classes; ++c) {
    groups_.push_back({static_cast<std::int32_t>(c), static_cast<double>(labels.sizes[c])});
  }
  codes_.assign(bytes_ * groups_.size(), 0);
  for (const std::int32_t of_class : labels.of) group_of_.push_back(static_cast<std::uint32_t>(of_class));
}

BitInference::Bit BitInference::next() {
  const std::size_t samples = labels_.of.size();
  std::vector<std::uint32_t> chosen;  // groups in the problem
  std::vector<double> counts(groups_.size(), 0.0);
  const bool all = groups_.size() <= most_groups_;
  if (all) {
    for (std::size_t g = 0; g < groups_.size(); ++g) counts[g] = groups_[g].count;
  } else {
    Random random(seed_ + found_);
    for (const std::uint32_t row : random_rows(samples, most_groups_, random)) ++counts[group_of_[row]];
  }
  std::vector<CodeGroup> groups;
  std::vector<std::uint8_t> codes;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (counts[g] == 0) continue;
    chosen.push_back(static_cast<std::uint32_t>(g));
    groups.push_back({groups_[g].of_class, counts[g]});
    codes.insert(codes.end(), codes_.begin() + static_cast<std::ptrdiff_t>(g * bytes_),
                 codes_.begin() + static_cast<std::ptrdiff_t>((g + 1) * bytes_));
  }
  const GroupedPairs problem(std::move(groups), std::move(codes), found_, labels_.sizes, loss_, threads_);
  const std::vector<std::int8_t> solution = problem.solve(seed_ + found_);
  std::vector<std::int8_t> z(groups_.size(), 0);
  for (std::size_t k = 0; k < chosen.size(); ++k) z[chosen[k]] = solution[k];
  threads_.for_each(all ? 0 : z.size(), [&](std::size_t g, int) {
    if (z[g] == 0) z[g] = problem.best_bit(groups_[g].of_class, codes_.data() + g * bytes_, solution);
  });
  Bit bit{std::vector<float>(samples), problem.objective(solution), all ? samples : most_groups_};
  for (std::size_t i = 0; i < samples; ++i) bit.z[i] = static_cast<float>(z[group_of_[i]]);
  return bit;
}

void BitInference::append(std::span<const float> outputs) {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> parts(2 * groups_.size(), kNone);  // new numbers of a group's samples, by their bit
  std::vector<CodeGroup> groups;
  std::vector<std::uint8_t> codes;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::uint32_t before = group_of_[i];
    const bool set = outputs[i] >= 0;
    std::uint32_t& now = parts[2 * before + (set ? 1 : 0)];
    if (now == kNone) {
      now = static_cast<std::uint32_t>(groups.size());
      groups.push_back({groups_[before].of_class, 0});
      codes.insert(codes.end(), codes_.begin() + static_cast<std::ptrdiff_t>(before * bytes_),
                   codes_.begin() + static_cast<std::ptrdiff_t>((before + 1) * bytes_));
      std::uint8_t& byte = codes[now * bytes_ + found_ / 8];
      byte = static_cast<std::uint8_t>(byte | (set ? 1U << found_ % 8 : 0U));
    }
    ++groups[now].count;
    group_of_[i] = now;
  }
  groups_ = std::move(groups);
  codes_ = std::move(codes);
  ++found_;
}

}  // namespace bdnn
