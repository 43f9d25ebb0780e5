#include "bdnn/protocol.h"

#include "base/error.h"
#include "base/files.h"
#include "base/toml.h"

namespace bdnn {
namespace {

Protocol::Part read_part(TomlTable& top, const char* name) {
  TomlTable table = top.table(name);
  Protocol::Part part;
  part.vectors = table.texts("vectors", "a file name, or a list of them").value_or(part.vectors);
  part.labels = table.texts("labels", "a file name, or a list of them").value_or(part.labels);
  table.refuse_unknown();
  return part;
}

void check(const Protocol& protocol, const std::string& path) {
  const bool separate = !protocol.train.vectors.empty() && !protocol.queries.vectors.empty();
  if (protocol.splits() == separate) {
    failure("{}: give either a [collection] to split, or [train] and [queries] (and [database])", path);
  }
  if (protocol.splits() && (protocol.split.queries_per_class == 0 || protocol.collection.labels.empty())) {
    failure("{}: a split needs queries_per_class of at least 1, and labels of the collection", path);
  }
  if (protocol.leave_one_out && !protocol.split.search_queries) {
    failure("{}: leave_one_out needs queries that are searched among themselves (search_queries = true)", path);
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
  Protocol protocol;
  TomlTable top = TomlTable::parse(read_whole_file(path, 1 << 20), path);
  protocol.name = top.text("name").value_or(file_name(path));
  protocol.description = top.text("description").value_or("");
  protocol.train = read_part(top, "train");
  protocol.database = read_part(top, "database");
  protocol.queries = read_part(top, "queries");
  protocol.collection = read_part(top, "collection");
  TomlTable split = top.table("split");
  TomlTable features = top.table("features");
  TomlTable relevance = top.table("relevance");
  TomlTable metrics = top.table("metrics");
  top.refuse_unknown();

  protocol.split.queries_per_class = split.count("queries_per_class", 0);
  protocol.split.search_queries = split.flag("search_queries").value_or(false);
  protocol.leave_one_out = split.flag("leave_one_out").value_or(false);
  protocol.split.seed = split.count("seed", 1);
  split.refuse_unknown();

  protocol.pca = features.count("pca", 0);
  features.refuse_unknown();

  const auto kind = relevance.choice("kind", {"neighbours", "labels"});
  if (!kind) failure("{}: [relevance] must state its kind: neighbours or labels", path);
  protocol.labels_are_relevant = *kind == 1;
  protocol.neighbours.k = relevance.count("neighbours", 50);
  protocol.neighbours.metric = relevance.choice_of("metric", kMetrics).value_or(Metric::euclidean);
  relevance.refuse_unknown();

  protocol.metrics.ties = metrics.choice_of("ties", kAllTies).value_or(Ties::expected);
  protocol.metrics.cutoff = metrics.count("cutoff", 0);
  protocol.metrics.radii = metrics.counts("radii", {2});
  protocol.metrics.at = metrics.counts("at", {});
  metrics.refuse_unknown();

  check(protocol, path);
  return protocol;
}

}  // namespace bdnn
