// Experimental protocols as data: files, split, relevance, metrics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bdnn/ground_truth.h"
#include "bdnn/metrics.h"
#include "bdnn/vectors.h"

namespace bdnn {

// The content of a protocol file (TOML; docs/evaluation.md).
struct Protocol {
  std::string name;
  std::string description;

  // Files within the data folder; several are concatenated. Either separate parts ...
  struct Part {
    std::vector<std::string> vectors;
    std::vector<std::string> labels;
  };
  Part train;
  Part database;  // empty: the training set
  Part queries;
  // ... or one collection to split.
  Part collection;

  struct Split {
    std::size_t queries_per_class = 0;  // drawn at random; the rest is the training set ...
    bool search_queries = false;        // ... and the database, unless queries are searched among themselves
    std::uint64_t seed = 1;
  };
  Split split;
  bool leave_one_out = false;  // a query does not find itself
  std::size_t pca = 0;         // reduce vectors to this many principal components of the training set; 0: no reduction

  bool labels_are_relevant = false;  // otherwise the k nearest neighbours
  GroundTruthOptions neighbours;
  MetricsOptions metrics;

  bool splits() const { return !collection.vectors.empty(); }
};

// An unknown key or value raises Error with its line.
Protocol load_protocol(const std::string& path);

// The data of a protocol, split and reduced.
struct Dataset {
  Vectors train;
  Vectors database;
  Vectors queries;
  std::vector<std::int64_t> train_labels;  // empty without labels
  std::vector<std::int64_t> database_labels;
  std::vector<std::int64_t> query_labels;
  std::vector<std::int64_t> self;  // position of each query in the database; empty unless leave-one-out

  // The vectors before the protocol's reduction, for models that reduce vectors themselves; empty without a reduction.
  struct Parts {
    Vectors train;
    Vectors database;
    Vectors queries;
  };
  Parts unreduced;
  // The parts to use with a model that reduces vectors itself, or with one that does not.
  Parts parts(bool reduces_itself) const;

  // Rows of the collection; empty without a split.
  std::vector<std::int32_t> train_rows;
  std::vector<std::int32_t> query_rows;
};
Dataset load_dataset(const Protocol& protocol, const std::string& folder, std::uint64_t split_seed, int threads = 0);

// Number of queries that also occur in the training set or the database, element for element, not counting the query
// itself in leave-one-out. Such queries make results look better than they are.
struct Overlap {
  std::size_t with_training = 0;
  std::size_t with_database = 0;
};
Overlap find_overlap(const Dataset& dataset);

// A hash of each part's vectors and labels: equal for equal data.
struct DatasetHashes {
  std::string train;
  std::string database;
  std::string queries;
};
DatasetHashes hash_dataset(const Dataset& dataset);

// Writes the split to a folder: train.ivecs and queries.ivecs with the rows of the collection, and split.json with the
// protocol's name, the seed, the counts and the hashes.
void save_split(const Protocol& protocol, const Dataset& dataset, std::uint64_t seed, const std::string& folder);

}  // namespace bdnn
