#include "experiment/experiment_data.h"

#include <algorithm>
#include <filesystem>

#include "base/checksum.h"
#include "base/error.h"
#include "base/with_commas.h"
#include "bdnn/version.h"
#include "data/format.h"

namespace bdnn {
namespace {

constexpr std::size_t kQuickTraining = 5000;
constexpr std::size_t kQuickDatabase = 20000;
constexpr std::size_t kQuickQueries = 500;
constexpr std::size_t kQuickNeighbours = 10;  // at least, if there were as many

std::vector<std::uint32_t> evenly_spaced(std::size_t count, std::size_t most) {
  std::vector<std::uint32_t> rows(std::min(count, most));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint32_t>(i * count / rows.size());
  return rows;
}

void take_rows(std::vector<std::int64_t>& labels, const std::vector<std::uint32_t>& rows) {
  if (labels.empty()) return;
  std::vector<std::int64_t> some;
  for (const std::uint32_t row : rows) some.push_back(labels[row]);
  labels = std::move(some);
}

// Keeps some of the vectors; parts that were the same stay the same.
void make_small(Dataset& data) {
  const bool database_is_train = data.database.data() == data.train.data();
  const bool database_is_queries = data.database.data() == data.queries.data();
  const auto train_rows = evenly_spaced(data.train.size(), kQuickTraining);
  const auto query_rows = evenly_spaced(data.queries.size(), kQuickQueries);
  const auto database_rows = database_is_train     ? train_rows
                             : database_is_queries ? query_rows
                                                   : evenly_spaced(data.database.size(), kQuickDatabase);
  const auto take = [&](Vectors& train, Vectors& database, Vectors& queries) {
    train = gather(train, train_rows);
    queries = gather(queries, query_rows);
    database = database_is_train ? train : database_is_queries ? queries : gather(database, database_rows);
  };
  take(data.train, data.database, data.queries);
  if (data.unreduced.train.size() > 0) take(data.unreduced.train, data.unreduced.database, data.unreduced.queries);
  take_rows(data.train_labels, train_rows);
  take_rows(data.query_labels, query_rows);
  take_rows(data.database_labels, database_rows);
  if (!data.self.empty()) data.self.resize(data.queries.size());  // position i is query i
}

// A count scaled down with the database.
std::size_t in_proportion(std::size_t count, std::size_t database, std::size_t before) {
  const auto share = static_cast<double>(count) * static_cast<double>(database) / static_cast<double>(before);
  return std::min(count, std::max(kQuickNeighbours, static_cast<std::size_t>(share)));
}

std::string relevance_in_words(const Protocol& protocol) {
  const std::string leave_out = protocol.leave_one_out ? "; a query does not find itself" : "";
  if (protocol.labels_are_relevant) return "relevant: what has the query's label" + leave_out;
  return fmt::format("relevant: the {} nearest by {} distance{}", with_commas(protocol.neighbours.k),
                     name_of(protocol.neighbours.metric), leave_out);
}

std::string measures_in_words(const MetricsOptions& metrics) {
  return fmt::format(
      "codes at equal distance: {}; average precision over {}, divided by all relevant",
      metrics.ties == Ties::expected ? "the mean over all their orders" : std::string(name_of(metrics.ties)),
      metrics.cutoff > 0 ? "the first " + with_commas(metrics.cutoff) + " returned" : "the whole ranking");
}

std::string part_in_words(const char* use, const Vectors& x, const std::string& hash) {
  return fmt::format("{}: {} vectors of {} {}, xxh3 {}", use, with_commas(x.size()), with_commas(x.dimension()),
                     name_of(x.shape().element), hash);
}

}  // namespace

std::string missing_file(const Protocol& protocol, const std::string& folder) {
  for (const auto* part : {&protocol.train, &protocol.database, &protocol.queries, &protocol.collection}) {
    for (const auto* files : {&part->vectors, &part->labels}) {
      for (const auto& file : *files) {
        if (!std::filesystem::exists(split_source_name(folder + "/" + file).file)) return file;
      }
    }
  }
  return "";
}

ExperimentData load_experiment_data(const ExperimentPlan& plan, Protocol protocol, const std::string& folder,
                                    int threads) {
  ExperimentData data;
  data.dataset = load_dataset(protocol, folder, protocol.split.seed, threads);
  if (plan.quick) {
    const std::size_t before = data.dataset.database.size();
    make_small(data.dataset);
    const std::size_t size = data.dataset.database.size();
    protocol.neighbours.k = in_proportion(protocol.neighbours.k, size, before);
    if (protocol.metrics.cutoff > 0) protocol.metrics.cutoff = in_proportion(protocol.metrics.cutoff, size, before);
  }
  protocol.metrics.curve = true;
  const Dataset& set = data.dataset;
  if (plan.images && plan.images->width * plan.images->height * plan.images->channels != set.queries.dimension()) {
    failure("{}: [images] of {} x {} pixels and {} channel(s) do not fit vectors of dimension {}", plan.name,
            plan.images->width, plan.images->height, plan.images->channels, set.queries.dimension());
  }
  const DatasetHashes hashes = hash_dataset(set);
  data.facts = {part_in_words("training", set.train, hashes.train),
                part_in_words("database", set.database, hashes.database),
                part_in_words("queries", set.queries, hashes.queries), relevance_in_words(protocol),
                measures_in_words(protocol.metrics)};
  if (protocol.splits()) data.facts.push_back(fmt::format("seed of the split: {}", protocol.split.seed));
  const Overlap overlap = find_overlap(set);
  if (overlap.with_training > 0 || overlap.with_database > 0) {
    data.facts.push_back(
        fmt::format("{} queries also stand in the training set and {} in the database, element for element",
                    with_commas(overlap.with_training), with_commas(overlap.with_database)));
  }
  std::string identity = std::string("bdnn ") + version();
  for (const auto& fact : data.facts) identity += "\n" + fact;
  for (const std::size_t radius : protocol.metrics.radii) identity += fmt::format("\nradius {}", radius);
  for (const std::size_t k : protocol.metrics.at) identity += fmt::format("\nat {}", k);
  data.setting = fmt::format("{:016x}", checksum(std::as_bytes(std::span(identity))));
  data.protocol = std::move(protocol);
  return data;
}

}  // namespace bdnn
