#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <unordered_map>

#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/random.h"
#include "bdnn/protocol.h"
#include "bdnn/version.h"
#include "data/format.h"
#include "learn/reduction.h"

namespace bdnn {
namespace {

// Several files put one after the other; one file is not copied.
Vectors load_all(const std::vector<std::string>& names, const std::string& folder) {
  if (names.size() == 1) return load_vectors(folder + "/" + names.front());
  std::vector<Vectors> parts;
  Shape shape;
  for (const auto& name : names) {
    parts.push_back(load_vectors(folder + "/" + name));
    const Shape& part = parts.back().shape();
    if (parts.size() > 1 && (part.dimension != shape.dimension || part.element != shape.element)) {
      failure("{}: has vectors of {} {}, {} has {} {}; all parts of a set must agree", name, part.dimension,
              name_of(part.element), names.front(), shape.dimension, name_of(shape.element));
    }
    shape = {part.dimension, shape.count + part.count, part.element};
  }
  const auto data = allocate_vectors(shape, folder);
  std::byte* out = data.get();
  for (const auto& part : parts) {
    const std::size_t bytes = part.size() * shape.bytes_per_vector();
    std::memcpy(out, part.data(), bytes);
    out += bytes;
  }
  return {shape, data};
}

std::vector<std::int64_t> load_all_labels(const std::vector<std::string>& names, const std::string& folder,
                                          std::size_t count, LabelNames* label_names = nullptr) {
  if (names.empty()) return {};
  std::vector<std::int64_t> labels;
  for (const auto& name : names) {
    const auto part = load_labels(folder + "/" + name, label_names);
    labels.insert(labels.end(), part.begin(), part.end());
  }
  if (labels.size() != count) {
    failure("{}: {} labels for {} vectors; give one label per vector", names.front(), labels.size(), count);
  }
  return labels;
}

Vectors rows_of(const Vectors& x, const std::vector<std::int32_t>& rows) {
  return gather(x, std::vector<std::uint32_t>(rows.begin(), rows.end()));
}

std::vector<std::int64_t> labels_of(const std::vector<std::int64_t>& labels, const std::vector<std::int32_t>& rows) {
  std::vector<std::int64_t> some;
  for (const std::int32_t row : rows) some.push_back(labels[static_cast<std::size_t>(row)]);
  return some;
}

// Draws queries_per_class of each class, without replacement; both lists in ascending order. Unlabelled vectors go to
// the training set.
void draw_split(const std::vector<std::int64_t>& labels, const LabelNames& names, const Protocol::Split& split,
                std::uint64_t seed, Dataset& dataset) {
  std::map<std::int64_t, std::vector<std::int32_t>> classes;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != -1) classes[labels[i]].push_back(static_cast<std::int32_t>(i));
  }
  Random random(seed);
  std::vector<bool> is_query(labels.size());
  for (auto& [label, members] : classes) {
    if (members.size() < split.queries_per_class) {
      const auto name = names.find(label);
      failure("class {} has {} members, fewer than the {} queries drawn from each class",
              name == names.end() ? std::to_string(label) : name->second, members.size(), split.queries_per_class);
    }
    for (std::size_t i = 0; i < split.queries_per_class; ++i) {
      std::swap(members[i], members[i + random.below(members.size() - i)]);
      is_query[static_cast<std::size_t>(members[i])] = true;
    }
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    (is_query[i] ? dataset.query_rows : dataset.train_rows).push_back(static_cast<std::int32_t>(i));
  }
  if (dataset.train_rows.empty()) failure("the split leaves nothing to train on; ask for fewer queries of each class");
}

std::uint64_t hash_vector(const Vectors& x, std::size_t i) {
  const std::size_t bytes = x.shape().bytes_per_vector();
  return checksum({x.data() + i * bytes, bytes});
}

std::string hash_part(const Vectors& x, const std::vector<std::int64_t>& labels) {
  Checksum sum;
  sum.add({x.data(), x.size() * x.shape().bytes_per_vector()});
  sum.add(std::as_bytes(std::span(labels)));
  return fmt::format("{:016x}", sum.value());
}

// The number of queries that occur in x, element for element; `self` tells each query's own place in x.
std::size_t count_in(const Vectors& queries, const Vectors& x, const std::vector<std::int64_t>& self) {
  if (queries.dimension() != x.dimension() || queries.shape().element != x.shape().element) return 0;
  std::unordered_multimap<std::uint64_t, std::size_t> places;
  for (std::size_t q = 0; q < queries.size(); ++q) places.emplace(hash_vector(queries, q), q);
  std::vector<bool> found(queries.size());
  const std::size_t bytes = x.shape().bytes_per_vector();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto [first, last] = places.equal_range(hash_vector(x, i));
    for (auto at = first; at != last; ++at) {
      const std::size_t q = at->second;
      if (!self.empty() && self[q] == static_cast<std::int64_t>(i)) continue;
      if (std::memcmp(queries.data() + q * bytes, x.data() + i * bytes, bytes) == 0) found[q] = true;
    }
  }
  return static_cast<std::size_t>(std::count(found.begin(), found.end(), true));
}

void write_rows(const std::vector<std::int32_t>& rows, const std::string& path) {
  const auto writer = kIvecs.create({path, {1, rows.size(), Element::i32}, "", {}});
  writer->write(rows.size(), reinterpret_cast<const std::byte*>(rows.data()));
  writer->finish();
}

Dataset load_parts(const Protocol& protocol, const std::string& folder, std::uint64_t split_seed) {
  Dataset dataset;
  if (!protocol.splits()) {
    dataset.train = load_all(protocol.train.vectors, folder);
    dataset.train_labels = load_all_labels(protocol.train.labels, folder, dataset.train.size());
    if (protocol.database.vectors.empty()) {
      dataset.database = dataset.train;
      dataset.database_labels = dataset.train_labels;
    } else {
      dataset.database = load_all(protocol.database.vectors, folder);
      dataset.database_labels = load_all_labels(protocol.database.labels, folder, dataset.database.size());
    }
    dataset.queries = load_all(protocol.queries.vectors, folder);
    dataset.query_labels = load_all_labels(protocol.queries.labels, folder, dataset.queries.size());
    return dataset;
  }
  const Vectors all = load_all(protocol.collection.vectors, folder);
  LabelNames names;
  const auto labels = load_all_labels(protocol.collection.labels, folder, all.size(), &names);
  draw_split(labels, names, protocol.split, split_seed, dataset);
  dataset.train = rows_of(all, dataset.train_rows);
  dataset.queries = rows_of(all, dataset.query_rows);
  dataset.train_labels = labels_of(labels, dataset.train_rows);
  dataset.query_labels = labels_of(labels, dataset.query_rows);
  dataset.database = protocol.split.search_queries ? dataset.queries : dataset.train;
  dataset.database_labels = protocol.split.search_queries ? dataset.query_labels : dataset.train_labels;
  if (protocol.leave_one_out) {
    for (std::size_t q = 0; q < dataset.queries.size(); ++q) dataset.self.push_back(static_cast<std::int64_t>(q));
  }
  return dataset;
}

}  // namespace

Dataset::Parts Dataset::parts(bool reduces_itself) const {
  if (reduces_itself && unreduced.train.size() > 0) return unreduced;
  return {train, database, queries};
}

Dataset load_dataset(const Protocol& protocol, const std::string& folder, std::uint64_t split_seed, int thread_count) {
  Dataset dataset = load_parts(protocol, folder, split_seed);
  if (protocol.pca == 0) return dataset;
  Threads threads(thread_count);
  Progress silent;
  const Layer reduction = fit_components(dataset.train, protocol.pca, threads, silent).layer;
  dataset.unreduced = {dataset.train, dataset.database, dataset.queries};
  const bool database_is_train = dataset.database.data() == dataset.train.data();
  const bool database_is_queries = dataset.database.data() == dataset.queries.data();
  dataset.train = reduced(reduction, dataset.train, threads);
  dataset.queries = reduced(reduction, dataset.queries, threads);
  dataset.database = database_is_train     ? dataset.train
                     : database_is_queries ? dataset.queries
                                           : reduced(reduction, dataset.database, threads);
  return dataset;
}

Overlap find_overlap(const Dataset& dataset) {
  return {count_in(dataset.queries, dataset.train, {}), count_in(dataset.queries, dataset.database, dataset.self)};
}

DatasetHashes hash_dataset(const Dataset& dataset) {
  return {hash_part(dataset.train, dataset.train_labels), hash_part(dataset.database, dataset.database_labels),
          hash_part(dataset.queries, dataset.query_labels)};
}

void save_split(const Protocol& protocol, const Dataset& dataset, std::uint64_t seed, const std::string& folder) {
  if (!protocol.splits()) misuse("{}: this protocol has no split to write", protocol.name);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) failure("{}: cannot make this folder: {}", folder, error.message());
  write_rows(dataset.train_rows, folder + "/train.ivecs");
  write_rows(dataset.query_rows, folder + "/queries.ivecs");
  const auto hashes = hash_dataset(dataset);
  const auto overlap = find_overlap(dataset);
  const auto part = [](const Vectors& x, const std::string& hash) { return Json{{"count", x.size()}, {"xxh3", hash}}; };
  const Json json = {{"protocol", protocol.name},
                     {"seed", seed},
                     {"program", std::string("bdnn ") + version()},
                     {"train", part(dataset.train, hashes.train)},
                     {"database", part(dataset.database, hashes.database)},
                     {"queries", part(dataset.queries, hashes.queries)},
                     {"leave_one_out", protocol.leave_one_out},
                     {"queries_also_in_training", overlap.with_training},
                     {"queries_also_in_database", overlap.with_database}};
  OutputFile file(folder + "/split.json");
  file.write(json.indented_text() + "\n");
  file.commit();
}

}  // namespace bdnn
