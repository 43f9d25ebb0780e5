// Results made up for tests.
#pragma once

#include "experiment/results_file.h"

namespace bdnn::testing {

// Two methods, two lengths, two seeds; the paper has figures for the first and for a method of its own.
inline const std::string kExperiment = R"(
title = "A title"
description = "What it is about."
protocol = "p.toml"
bits = [8, 16]
seeds = [1, 2]
metrics = ["precision@r2", "mAP"]
[[method]]
label = "UH-BDNN"
method = "uh-bdnn"
[[method]]
label = "ITQ"
method = "itq"
[[paper]]
source = "Table 2"
metric = "precision@r2"
bits = [8, 16]
[paper.percent]
UH-BDNN = [30.50, 70.00]
Theirs = [31.00, 10.00]
)";

inline ExperimentRecord example_record(const std::string& text = kExperiment) {
  ExperimentRecord record{
      parse_experiment(text, "experiments/example.toml"), "0123456789abcdef", {"training: 7 vectors"}};
  record.plan.protocol_text = "name = \"p\"\n";
  return record;
}

inline Cell example_cell(const ExperimentRecord& record, std::size_t method, std::size_t bits, std::uint64_t seed,
                         double precision) {
  const PlannedMethod& planned = record.plan.methods[method];
  Cell cell;
  cell.key = {record.setting, planned.method, planned.profile, planned.set, bits, seed};
  cell.values = {{"mAP", precision / 2}, {"precision@r2", precision}};
  cell.codes = {{"distinct", 5}, {"count", 10}, {"entropy", 2.25}, {"largest_imbalance", .125}};
  for (std::size_t radius = 0; radius <= bits; ++radius) {
    const double share = static_cast<double>(radius) / static_cast<double>(bits);
    cell.curve.push_back({radius, precision * (1 - share), share, 0, 10 * share});
  }
  cell.train_seconds = 2;
  cell.measure_seconds = .5;
  cell.threads = 1;
  cell.cells_at_once = 2;
  cell.outcome = "iteration 3 of 3 kept";
  cell.finished = "2026-11-17T07:12:00Z";
  cell.environment = {{"program", "bdnn 0.1.0"}, {"commit", "1c2894e01f3a"}, {"machine", "a machine"}};
  if (bits == 16 && seed == 1) cell.images = {{3, "aGk=", "seven", {{"aGo=", 2, true}, {"aGs=", 4, false}}}};
  return cell;
}

inline void add_example(ResultsFile& results, const ExperimentRecord& record = example_record()) {
  results.put(record);
  for (std::size_t method = 0; method < record.plan.methods.size(); ++method) {
    for (const std::size_t bits : record.plan.bits) {
      for (const std::uint64_t seed : record.plan.seeds) {
        const auto spread = static_cast<double>(seed) / 100;
        results.add(example_cell(record, method, bits, seed,
                                 (method == 0 ? .3 : .2) + spread + .01 * static_cast<double>(bits)));
      }
    }
  }
}

}  // namespace bdnn::testing
