// The B step of decoders that read bits in groups, on one thread, for each SIMD target that is named or that the
// machine has; with AVX2 beside a bare loop that is told the choices: it reads the same columns and looks at the same
// values.
//
//     build/bench/bench/descent_bench [--target AVX2]... [SAMPLES]
#include <fmt/format.h>

#include <algorithm>

#include "bare_loops.h"
#include "base/random.h"
#include "coding/group_descent.h"
#include "linalg/product.h"
#include "targets.h"
#include "timing.h"

namespace {

constexpr std::size_t kDimension = 128;
constexpr int kSweeps = 20;

struct Problem {
  bdnn::BitGroups groups;
  bdnn::MatrixXf columns;
  bdnn::MatrixXf pull;   // 2 columns^T columns
  std::vector<float> q;  // of each sample
  std::vector<std::uint8_t> codes;
};

// Samples that are sums of columns, and noise; codes that have a quarter of the groups wrong.
Problem problem_of(std::size_t bits, std::size_t group, std::size_t samples) {
  bdnn::Random random(1);
  Problem problem{{bits, group}, {}, {}, {}, {}};
  const auto& groups = problem.groups;
  const auto size = static_cast<Eigen::Index>(groups.columns());
  problem.columns = bdnn::MatrixXf::NullaryExpr(kDimension, size, [&] { return static_cast<float>(random.normal()); });
  problem.pull = 2 * problem.columns.transpose() * problem.columns;
  problem.codes.resize(samples * (bits / 8));
  for (std::size_t i = 0; i < samples; ++i) {
    bdnn::VectorXf x = bdnn::VectorXf::NullaryExpr(kDimension, [&] { return static_cast<float>(2 * random.normal()); });
    for (std::size_t g = 0; g < groups.count(); ++g) {
      const std::size_t value = random.below(groups.values(g));
      x += problem.columns.col(static_cast<Eigen::Index>(groups.first_column(g) + value));
      const std::size_t known = random.below(4) == 0 ? random.below(groups.values(g)) : value;
      groups.set(problem.codes.data() + i * (bits / 8), g, known);
    }
    const bdnn::VectorXf q = problem.columns.transpose() * x;
    problem.q.insert(problem.q.end(), q.begin(), q.end());
  }
  return problem;
}

// What a descent does with one sample: exchanges of a column for another, and looks at a group's values before each.
struct Step {
  std::size_t group;  // that is looked at
  std::size_t minus;  // the columns that are exchanged; equal where the value stays
  std::size_t plus;
};

std::vector<std::vector<Step>> steps_of(const Problem& problem, std::size_t samples) {
  const auto& groups = problem.groups;
  const auto size = static_cast<Eigen::Index>(groups.columns());
  std::vector<std::vector<Step>> all;
  for (std::size_t i = 0; i < samples; ++i) {
    const std::uint8_t* code = problem.codes.data() + i * (groups.bits() / 8);
    bdnn::VectorXf r = 2 * Eigen::Map<const bdnn::VectorXf>(problem.q.data() + i * groups.columns(), size) -
                       problem.pull.diagonal() / 2;
    std::vector<std::size_t> chosen;
    const auto pull = [&](std::size_t column) -> bdnn::VectorXf {  // of a group on the others
      bdnn::VectorXf on = problem.pull.col(static_cast<Eigen::Index>(column));
      const std::size_t g = column >> groups.group();
      on.segment(static_cast<Eigen::Index>(groups.first_column(g)), static_cast<Eigen::Index>(groups.values(g)))
          .setZero();
      return on;
    };
    for (std::size_t g = 0; g < groups.count(); ++g) {
      chosen.push_back(groups.first_column(g) + groups.value(code, g));
      r -= pull(chosen.back());
    }
    std::vector<Step>& steps = all.emplace_back();
    for (std::size_t turn = 0, settled = 0; turn < groups.count() * kSweeps && settled < groups.count(); ++turn) {
      const std::size_t g = turn % groups.count();
      const float* first = r.data() + groups.first_column(g);
      const float* best = std::max_element(first, first + groups.values(g));
      const std::size_t column = groups.first_column(g) + static_cast<std::size_t>(best - first);
      ++settled;
      steps.push_back({g, chosen[g], column});
      if (column == chosen[g]) continue;
      r += pull(chosen[g]) - pull(column);
      chosen[g] = column;
      settled = 1;
    }
  }
  return all;
}

float bare_descent(const Problem& problem, const std::vector<std::vector<Step>>& all, std::vector<float>& r) {
  const auto& groups = problem.groups;
  const std::size_t size = groups.columns();
  const auto column = [&](std::size_t i) { return problem.pull.data() + i * size; };
  float sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const float* q = problem.q.data() + i * size;
    for (std::size_t k = 0; k < size; ++k) r[k] = 2 * q[k];
    const std::vector<Step>& steps = all[i];
    for (std::size_t g = 0; g + 1 < groups.count(); g += 2) {  // the columns of the code that it starts from
      bdnn::bench::bare_exchange(column(steps[g].minus), column(steps[g + 1].minus), size, r.data());
    }
    for (const Step& step : steps) {
      sum += bdnn::bench::bare_most(r.data() + groups.first_column(step.group), groups.values(step.group));
      if (step.plus != step.minus) bdnn::bench::bare_exchange(column(step.plus), column(step.minus), size, r.data());
    }
  }
  return sum;
}

void compare(const Problem& problem, const std::vector<std::vector<Step>>& steps) {
  const auto& groups = problem.groups;
  const std::size_t samples = steps.size();
  const bdnn::GroupDescent descent(groups, problem.columns, kSweeps);
  const bdnn::GroupDescent search(groups, problem.columns, kSweeps, 8);
  std::vector<std::uint8_t> codes;
  std::vector<float> r(groups.columns());
  volatile float sink = 0;
  const auto run = [&](const bdnn::GroupDescent& kernel) {
    return [&] {
      codes = problem.codes;
      kernel.run(problem.q.data(), samples, codes.data());
    };
  };
  bdnn::bench::Rivals rivals = {run(descent), run(search)};
  const bool has_bare = bdnn::simd_target() == "AVX2";
  if (has_bare) rivals.emplace_back([&] { sink = bare_descent(problem, steps, r); });
  const auto times = bdnn::bench::best_times(7, rivals, bdnn::bench::cpu_now);
  const auto each = [&](std::size_t i) { return 1e6 * times[i] / static_cast<double>(samples); };
  fmt::print("{}: {} bits in groups of {}: {:.2f} us per sample", bdnn::simd_target(), groups.bits(), groups.group(),
             each(0));
  if (has_bare) fmt::print(", bare {:.2f} us ({:.2f})", each(2), times[0] / times[2]);
  fmt::print("; with 8 rounds of local search {:.2f} us\n", each(1));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = bdnn::bench::arguments_of(argc, argv, bdnn::simd_targets());
  const std::size_t samples = std::stoul(arguments(0, "500"));
  fmt::print("{}\nin brackets: our time over the bare loop's\n", bdnn::bench::machine());
  for (const std::size_t group : {8, 4}) {
    const Problem problem = problem_of(64, group, samples);
    const auto steps = steps_of(problem, samples);
    for (const std::string& target : arguments.targets) {
      bdnn::force_simd_target(target);
      compare(problem, steps);
    }
  }
}
