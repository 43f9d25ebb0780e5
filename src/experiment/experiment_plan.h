// An experiment as data: methods compared under a protocol, and the figures that the paper prints for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bdnn/protocol.h"

namespace bdnn {

// One row of an experiment's tables.
struct PlannedMethod {
  std::string label;   // name in the table: "UH-BDNN"
  std::string method;  // name in bdnn: "uh-bdnn"
  std::string profile = "default";
  std::map<std::string, std::string> set = {};  // options of the method
  bool quick = true;                            // is part of the quick version

  bool operator==(const PlannedMethod&) const = default;
};

// Figures printed in the paper, in percent.
struct PaperFigures {
  std::string source;  // "Table 2"
  std::string metric;  // as values_of() names it: "precision@r2"
  std::vector<std::size_t> bits;
  std::map<std::string, std::vector<double>> percent;  // by label; one for each of `bits`
};

// Vectors that are images: rows from the top, one plane per channel (1: grey; 3: red, green, blue).
struct ImageShape {
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t channels = 1;
};

struct ExperimentPlan {
  std::string path;         // of the file, as given: "experiments/mnist-unsupervised.toml"
  std::string name;         // of the file, without .toml: "mnist-unsupervised"
  std::string title;        // "MNIST, unsupervised"
  std::string description;  // for the report
  std::string protocol;     // path of the protocol file
  std::string dataset;      // folder of the data within the data root
  std::vector<std::size_t> bits;
  std::vector<std::uint64_t> seeds = {1};
  std::vector<std::string> metrics = {"mAP"};  // a table for each; the first one decides what is best
  std::vector<PlannedMethod> methods;
  std::vector<PaperFigures> paper;
  std::optional<ImageShape> images;
  std::vector<std::string> classes;  // names of labels 0, 1, ...; may be empty
  bool quick = false;                // on a small part of the data

  std::string text;           // of the file
  std::string protocol_text;  // of the protocol file

  std::size_t cells() const { return methods.size() * bits.size() * seeds.size(); }
};

// Reads an experiment file (docs/reproduction.md). An unknown key or value raises Error with its line.
ExperimentPlan load_experiment(const std::string& path);

// The same from texts; reads nothing else.
ExperimentPlan parse_experiment(const std::string& text, const std::string& path);

// The small version: one seed, 16 and 32 bits (the first and last length if those are not planned), and only the
// methods that are part of it.
ExperimentPlan quick_version(ExperimentPlan plan);

// Raises Error if the protocol does not measure one of the plan's metrics.
void check_metrics(const ExperimentPlan& plan, const Protocol& protocol);

}  // namespace bdnn
