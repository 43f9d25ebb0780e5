// Experimental protocols as data: which files, which split, what is relevant, which metrics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bdnn/ground_truth.h"
#include "bdnn/metrics.h"
#include "bdnn/vectors.h"

namespace bdnn {

// What a protocol file (TOML; docs/evaluation.md) says.
struct Protocol {
  std::string name;
  std::string description;

  // Files within the data folder; several are put one after the other. Either train, database and queries as they
  // are ...
  struct Part {
    std::vector<std::string> vectors;
    std::vector<std::string> labels;
  };
  Part train;
  Part database;  // empty: the training set
  Part queries;
  // ... or one collection, to be split.
  Part collection;

  struct Split {
    std::size_t queries_per_class = 0;  // drawn at random; the rest is the training set ...
    bool search_queries = false;        // ... and the database, unless queries are searched among themselves
    std::uint64_t seed = 1;
  };
  Split split;
  bool leave_one_out = false;  // the query itself is no answer
  std::size_t pca = 0;  // vectors are reduced to so many principal components of the training set; 0: as they are

  bool labels_are_relevant = false;  // else the k nearest neighbours
  GroundTruthOptions neighbours;
  MetricsOptions metrics;

  bool splits() const { return !collection.vectors.empty(); }
};

// Raises Error for an unknown key or value, with the line.
Protocol load_protocol(const std::string& path);

// A protocol's data, ready to use.
struct Dataset {
  Vectors train;
  Vectors database;
  Vectors queries;
  std::vector<std::int64_t> train_labels;  // empty where there are none
  std::vector<std::int64_t> database_labels;
  std::vector<std::int64_t> query_labels;
  std::vector<std::int64_t> self;  // of each query, its place in the database; empty unless leave-one-out

  // Where the rows come from in the collection; empty without a split.
  std::vector<std::int32_t> train_rows;
  std::vector<std::int32_t> query_rows;
};
Dataset load_dataset(const Protocol& protocol, const std::string& folder, std::uint64_t split_seed, int threads = 0);

// How many queries also stand in the training set or the database, element for element (the query itself, where it is
// left out, aside). A test on what was trained on is no test.
struct Overlap {
  std::size_t with_training = 0;
  std::size_t with_database = 0;
};
Overlap find_overlap(const Dataset& dataset);

// A hash of each part's vectors and labels, for the record: the same data gives the same text.
struct DatasetHashes {
  std::string train;
  std::string database;
  std::string queries;
};
DatasetHashes hash_dataset(const Dataset& dataset);

// Writes the split to a folder: train.ivecs and queries.ivecs with the rows of the collection, and split.json with the
// protocol's name, the seed, the counts and the hashes of what they hold.
void save_split(const Protocol& protocol, const Dataset& dataset, std::uint64_t seed, const std::string& folder);

}  // namespace bdnn
