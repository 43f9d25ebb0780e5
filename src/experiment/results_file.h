// The results of a reproduction: finished cells of experiments, in one JSON file that is always complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "bdnn/metrics.h"
#include "experiment/experiment_plan.h"

namespace bdnn {

// Identifies a cell: a model of one method, length and seed under one setting (data, relevance, measures, version).
struct CellKey {
  std::string setting;  // ExperimentRecord::setting
  std::string method;
  std::string profile;
  std::map<std::string, std::string> set;
  std::size_t bits = 0;
  std::uint64_t seed = 0;

  bool operator==(const CellKey&) const = default;
};

// A query image with the nearest ones found.
struct ImageRow {
  std::size_t query = 0;  // position among the queries
  std::string image;      // PNG, base64
  std::string label;      // class of the query, or ""
  struct Found {
    std::string image;
    std::size_t distance = 0;
    bool right = false;  // relevant to the query
  };
  std::vector<Found> found;
};

struct Cell {
  CellKey key;
  NamedValues values;  // values_of(MetricsResult)
  std::vector<MetricsResult::AtRadius> curve;
  NamedValues codes;  // statistics of the database's codes (diagnose_codes)
  std::vector<ImageRow> images;
  double train_seconds = 0;
  double measure_seconds = 0;
  int threads = 0;                                 // of this cell ...
  int cells_at_once = 0;                           // ... and how many cells ran in parallel
  std::string outcome;                             // what training reported
  std::string finished;                            // time_stamp()
  std::map<std::string, std::string> environment;  // program, machine, kernels
};

// An experiment as it was last run, with the data it saw. The report needs nothing else.
struct ExperimentRecord {
  ExperimentPlan plan;
  std::string setting;  // hash of data, relevance, measures and version: cells of other settings are not used
  std::vector<std::string> facts;  // "60,000 vectors of 784 u8 to train on, xxh3 ..."
  std::string data = "data";       // folder with a subfolder for each dataset, as given
};

// All cells of a file. Safe to use from several threads.
class ResultsFile {
 public:
  // Reads the file if there is one. Another version of the format, or a damaged file, raises Error.
  explicit ResultsFile(std::string path);

  const std::string& path() const { return path_; }
  const std::vector<ExperimentRecord>& experiments() const { return experiments_; }
  const std::vector<Cell>& cells() const { return cells_; }
  const Cell* find(const CellKey& key) const;  // valid until the next add()

  // Each saves the file.
  void put(ExperimentRecord record);  // replaces the experiment of that name
  void add(Cell cell);                // replaces the cell of that key

 private:
  void save() const;  // in one step: the file is the old one or the new one

  std::string path_;
  mutable std::mutex mutex_;
  std::vector<ExperimentRecord> experiments_;
  std::vector<Cell> cells_;
};

}  // namespace bdnn
