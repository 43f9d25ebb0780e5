#include "bdnn/protocol.h"

#include <toml++/toml.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/files.h"

namespace bdnn {
namespace {

// One table of the file: reads each key once, and complains about keys that nobody read.
class Section {
 public:
  Section(const toml::table* table, std::string name, const std::string& path)
      : table_(table), name_(std::move(name)), path_(path) {}

  bool exists() const { return table_ != nullptr; }

  template <class T>
  std::optional<T> get(const char* key, const char* what) {
    known_.emplace_back(key);
    const toml::node* node = table_ == nullptr ? nullptr : table_->get(key);
    if (node == nullptr) return std::nullopt;
    const auto value = node->value_exact<T>();
    if (!value) wrong(*node, key, what);
    return *value;
  }

  std::size_t count(const char* key, std::size_t otherwise) {
    const auto value = get<std::int64_t>(key, "a whole number, 0 or more");
    if (value && *value < 0) wrong(*table_->get(key), key, "a whole number, 0 or more");
    return value ? static_cast<std::size_t>(*value) : otherwise;
  }

  // A list, or one element in its place.
  template <class T>
  std::optional<std::vector<T>> list(const char* key, const char* what) {
    known_.emplace_back(key);
    const toml::node* node = table_ == nullptr ? nullptr : table_->get(key);
    if (node == nullptr) return std::nullopt;
    std::vector<T> values;
    const auto take = [&](const toml::node& element) {
      const auto value = element.value_exact<T>();
      if (!value) wrong(element, key, what);
      values.push_back(*value);
    };
    if (const auto* array = node->as_array()) {
      for (const auto& element : *array) take(element);
    } else {
      take(*node);
    }
    return values;
  }

  std::vector<std::size_t> counts(const char* key, std::vector<std::size_t> otherwise) {
    const auto values = list<std::int64_t>(key, "whole numbers, 0 or more");
    if (!values) return otherwise;
    std::vector<std::size_t> result;
    for (const std::int64_t value : *values) {
      if (value < 0) wrong(*table_->get(key), key, "whole numbers, 0 or more");
      result.push_back(static_cast<std::size_t>(value));
    }
    return result;
  }

  // One of a few words; its position in the list.
  std::optional<std::size_t> choice(const char* key, const std::vector<std::string_view>& words) {
    const auto value = get<std::string>(key, "a word");
    if (!value) return std::nullopt;
    std::string list;
    std::size_t i = 0;
    for (const auto word : words) {
      if (*value == word) return i;
      list += (i++ == 0 ? "" : ", ") + std::string(word);
    }
    wrong(*table_->get(key), key, list.c_str());
  }

  // One of a few values, by its name.
  template <class Value, std::size_t count>
  std::optional<Value> choice_of(const char* key, const Value (&values)[count]) {
    std::vector<std::string_view> names;
    for (const Value value : values) names.push_back(name_of(value));
    const auto at = choice(key, names);
    return at ? std::optional(values[*at]) : std::nullopt;
  }

  void refuse_unknown() const {
    if (table_ == nullptr) return;
    for (const auto& [key, node] : *table_) {
      if (std::find(known_.begin(), known_.end(), key.str()) != known_.end()) continue;
      std::string names;
      for (const auto& name : known_) names += (names.empty() ? "" : ", ") + name;
      failure("{}: line {}: there is no '{}' {}; there are {}", path_, node.source().begin.line, key.str(),
              name_.empty() ? "at the top" : "in [" + name_ + "]", names);
    }
  }

  void know(const char* key) { known_.emplace_back(key); }

 private:
  [[noreturn]] void wrong(const toml::node& node, const char* key, const char* what) const {
    failure("{}: line {}: '{}' is to be {}", path_, node.source().begin.line, key, what);
  }

  const toml::table* table_;
  std::string name_;
  const std::string& path_;
  std::vector<std::string> known_;
};

Protocol::Part read_part(const toml::table& root, const char* name, const std::string& path) {
  Section table(root[name].as_table(), name, path);
  Protocol::Part part;
  part.vectors = table.list<std::string>("vectors", "a file name, or a list of them").value_or(part.vectors);
  part.labels = table.list<std::string>("labels", "a file name, or a list of them").value_or(part.labels);
  table.refuse_unknown();
  return part;
}

void check(const Protocol& protocol, const std::string& path) {
  const bool separate = !protocol.train.vectors.empty() && !protocol.queries.vectors.empty();
  if (protocol.splits() == separate) {
    failure("{}: give either [collection] to be split, or [train] and [queries] (and [database])", path);
  }
  if (protocol.splits() && (protocol.split.queries_per_class == 0 || protocol.collection.labels.empty())) {
    failure("{}: a split needs queries_per_class of at least 1, and labels of the collection", path);
  }
  if (protocol.leave_one_out && !protocol.split.search_queries) {
    failure("{}: leave_one_out is for queries that are searched among themselves (search_queries = true)", path);
  }
  if (protocol.labels_are_relevant && !protocol.splits()) {
    const auto& database = protocol.database.vectors.empty() ? protocol.train : protocol.database;
    if (database.labels.empty() || protocol.queries.labels.empty()) {
      failure("{}: relevance by labels needs labels of the database and of the queries", path);
    }
  }
}

}  // namespace

Protocol load_protocol(const std::string& path) {
  toml::table root;
  try {
    root = toml::parse(read_whole_file(path, 1 << 20), path);
  } catch (const toml::parse_error& error) {
    failure("{}: line {}: {}", path, error.source().begin.line, error.description());
  }
  Protocol protocol;
  Section top(&root, "", path);
  protocol.name = top.get<std::string>("name", "a text").value_or(file_name(path));
  protocol.description = top.get<std::string>("description", "a text").value_or("");
  for (const char* part : {"train", "database", "queries", "collection", "split", "features", "relevance", "metrics"})
    top.know(part);
  top.refuse_unknown();
  protocol.train = read_part(root, "train", path);
  protocol.database = read_part(root, "database", path);
  protocol.queries = read_part(root, "queries", path);
  protocol.collection = read_part(root, "collection", path);

  Section split(root["split"].as_table(), "split", path);
  protocol.split.queries_per_class = split.count("queries_per_class", 0);
  protocol.split.search_queries = split.get<bool>("search_queries", "true or false").value_or(false);
  protocol.leave_one_out = split.get<bool>("leave_one_out", "true or false").value_or(false);
  protocol.split.seed = split.count("seed", 1);
  split.refuse_unknown();

  Section features(root["features"].as_table(), "features", path);
  protocol.pca = features.count("pca", 0);
  features.refuse_unknown();

  Section relevance(root["relevance"].as_table(), "relevance", path);
  const auto kind = relevance.choice("kind", {"neighbours", "labels"});
  if (!kind) failure("{}: [relevance] must say its kind: neighbours or labels", path);
  protocol.labels_are_relevant = *kind == 1;
  protocol.neighbours.k = relevance.count("neighbours", 50);
  protocol.neighbours.metric = relevance.choice_of("metric", kMetrics).value_or(Metric::euclidean);
  relevance.refuse_unknown();

  Section metrics(root["metrics"].as_table(), "metrics", path);
  protocol.metrics.ties = metrics.choice_of("ties", kAllTies).value_or(Ties::expected);
  protocol.metrics.cutoff = metrics.count("cutoff", 0);
  protocol.metrics.radii = metrics.counts("radii", {2});
  protocol.metrics.at = metrics.counts("at", {});
  metrics.refuse_unknown();

  check(protocol, path);
  return protocol;
}

}  // namespace bdnn
