#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "cli/codes_input.h"
#include "cli/command.h"
#include "cli/csv_input.h"
#include "cli/outputs.h"

namespace bdnn::cli {
namespace {

struct EvaluateArguments {
  // The database and the queries.
  std::string model;
  std::string database;
  std::string queries;
  // Relevance.
  std::size_t neighbours = 0;
  std::string ground_truth;
  std::string database_labels;
  std::string query_labels;
  std::string metric = "euclidean";
  bool leave_one_out = false;
  CsvInput csv;
  // Or a protocol, which defines all of this and trains models.
  std::string protocol;
  std::string folder = ".";
  std::vector<std::string> methods = {TrainOptions().method};
  std::vector<std::size_t> bits = {32};
  std::vector<std::uint64_t> seeds = {1};
  std::string profile = "default";
  std::vector<std::string> set;
  std::size_t pca = 0;
  std::uint64_t split_seed = 0;

  EncodeOptions encoding;  // of the database
  RankBy rank = RankBy::hamming;

  std::string ties;
  std::size_t cutoff = 0;
  std::vector<std::size_t> radii;
  std::vector<std::size_t> at;
  std::string curve;
  std::string cache;
  int threads = 0;
  bool json = false;
};

MetricsOptions metrics_options(const EvaluateArguments& arguments, MetricsOptions options) {
  if (!arguments.ties.empty()) options.ties = ties_by_name(arguments.ties);
  if (arguments.cutoff > 0) options.cutoff = arguments.cutoff;
  if (!arguments.radii.empty()) options.radii = arguments.radii;
  if (!arguments.at.empty()) options.at = arguments.at;
  options.curve = !arguments.curve.empty();
  options.threads = arguments.threads;
  return options;
}

void add(Json& json, const NamedValues& values) {
  for (const auto& [name, value] : values) json.add(name, value);
}

Json json_of(const NamedValues& values) {
  Json json = Json::object();
  add(json, values);
  return json;
}

// The definitions behind the numbers, in every output.
void add_definitions(Json& json, const MetricsResult& result) {
  json.add("ties", name_of(result.ties));
  json.add("cutoff", result.cutoff);
  json.add("divided_by", "all relevant");
  json.add("database", result.database);
  json.add("queries", result.queries);
  json.add("queries_without_relevant", result.queries_without_relevant);
  json.add("bits", result.bits);
}

std::string definitions_text(const MetricsResult& result) {
  return fmt::format(
      "{} queries in {} codes of {} bits; ties: {}; average precision over {}, divided by all relevant{}",
      with_commas(result.queries), with_commas(result.database), result.bits, name_of(result.ties),
      result.cutoff > 0 ? "the first " + with_commas(result.cutoff) + " returned" : "the whole ranking",
      result.queries_without_relevant > 0 ? fmt::format("; {} queries have nothing relevant and count as 0",
                                                        with_commas(result.queries_without_relevant))
                                          : "");
}

std::string cell(const std::string& name, double value) {
  return name.starts_with("looked_at") ? fmt::format("{:.1f}", value) : fmt::format("{:.2f} %", 100 * value);
}

void write_curve(const MetricsResult& result, const std::string& path) {
  OutputFile file(path);
  file.write("radius,precision,recall,empty,looked_at\n");
  for (const auto& at : result.curve) {
    file.write(fmt::format("{},{},{},{},{}\n", at.radius, at.precision, at.recall, at.empty, at.looked_at));
  }
  file.commit();
}

void evaluate_files(const EvaluateArguments& arguments) {
  if (arguments.database.empty() || arguments.queries.empty()) {
    misuse("give --database and --queries, or a --protocol");
  }
  arguments.csv.check({arguments.database, arguments.queries});
  const VectorsFile database_file = arguments.csv.file(arguments.database);
  const VectorsFile queries_file = arguments.csv.file(arguments.queries);
  const VectorsFile labels_of_database = arguments.csv.labels(arguments.database_labels, arguments.database);
  const VectorsFile labels_of_queries = arguments.csv.labels(arguments.query_labels, arguments.queries);
  const bool by_neighbours = arguments.neighbours > 0 || !arguments.ground_truth.empty();
  // A label column may be named only to leave it out of the vectors.
  const bool labels_given = !arguments.database_labels.empty() || !arguments.query_labels.empty();
  const bool by_labels =
      (labels_given || !by_neighbours) && !labels_of_database.path.empty() && !labels_of_queries.path.empty();
  if (by_labels == by_neighbours) {
    misuse(
        "say what is relevant: --neighbours K, --ground-truth FILE, --database-labels with --query-labels, or "
        "--label-column for CSV files");
  }
  const auto progress = make_progress();
  std::optional<Model> model;
  if (!arguments.model.empty()) model = load_model(arguments.model);
  const bool by_codes = compares_codes(arguments.rank);
  const Codes database = codes_from(database_file, model, arguments.encoding);
  const Codes queries = by_codes ? codes_from(queries_file, model, {.threads = arguments.threads}) : Codes();
  const Vectors vectors = by_codes ? Vectors() : query_vectors_from(queries_file, model, arguments.rank);
  const std::size_t query_count = by_codes ? queries.size() : vectors.size();
  std::vector<std::int64_t> self;
  if (arguments.leave_one_out) {
    if (database.size() != query_count) {
      misuse("--leave-one-out needs the database itself as queries; there are {} queries and {} codes", query_count,
             database.size());
    }
    for (std::size_t i = 0; i < query_count; ++i) self.push_back(static_cast<std::int64_t>(i));
  }
  GroundTruth truth;
  Relevance relevance = Relevance::neighbours({}, 0);
  if (by_labels) {
    auto database_labels = labels_from(labels_of_database, database.size(), arguments.database);
    auto query_labels = labels_from(labels_of_queries, query_count, arguments.queries);
    relevance = Relevance::labels(std::move(database_labels), std::move(query_labels));
  } else {
    if (!arguments.ground_truth.empty()) {
      truth = load_ground_truth(arguments.ground_truth, database.size(), query_count, arguments.neighbours);
    } else {
      truth = cached_neighbours(load_vectors(database_file), load_vectors(queries_file),
                                {arguments.neighbours, metric_by_name(arguments.metric), self, arguments.threads},
                                arguments.cache, *progress);
    }
    relevance = Relevance::neighbours(truth.ids, truth.k);
  }
  relevance.self = self;
  const MetricsOptions options = metrics_options(arguments, {});
  const auto result = by_codes
                          ? evaluate_codes(database, queries, relevance, options, *progress, arguments.rank)
                          : evaluate_scores(*model, arguments.rank, database, vectors, relevance, options, *progress);
  if (!arguments.curve.empty()) write_curve(result, arguments.curve);
  const NamedValues values = values_of(result);
  if (arguments.json) {
    Json out = json_of(values);
    add_definitions(out, result);
    print_json(out);
    return;
  }
  fmt::print("{}\n", definitions_text(result));
  for (const auto& [name, value] : values) fmt::print("{:<16} {:>10}\n", name, cell(name, value));
}

void print_runs(const EvaluateArguments& arguments, const Protocol& protocol, const Dataset& dataset,
                const Overlap& overlap, std::uint64_t split_seed, const std::vector<ExperimentRun>& runs) {
  const std::vector<ExperimentSummary> summaries = summarize(runs);
  if (arguments.json) {
    Json list = Json::array();
    for (const auto& run : runs) {
      Json entry = {{"method", run.method}, {"seed", run.seed}, {"train_seconds", run.train_seconds}};
      add_definitions(entry, run.result);
      add(entry, values_of(run.result));
      list.push_back(entry);
    }
    Json summary = Json::array();
    for (const auto& row : summaries) {
      summary.push_back({{"method", row.method},
                         {"bits", row.bits},
                         {"runs", row.runs},
                         {"mean", json_of(row.mean)},
                         {"spread", json_of(row.spread)},
                         {"train_seconds", row.train_seconds}});
    }
    const auto hashes = hash_dataset(dataset);
    print_json({{"protocol", protocol.name},
                {"split_seed", split_seed},
                {"train", hashes.train},
                {"database", hashes.database},
                {"queries", hashes.queries},
                {"queries_also_in_training", overlap.with_training},
                {"queries_also_in_database", overlap.with_database},
                {"summary", summary},
                {"runs", list}});
    return;
  }
  fmt::print("{}: {} vectors to train on; {}\n", protocol.name, with_commas(dataset.train.size()),
             definitions_text(runs.front().result));
  if (overlap.with_training > 0 || overlap.with_database > 0) {
    fmt::print("Note: {} queries also occur in the training set, {} in the database, element for element.\n",
               with_commas(overlap.with_training), with_commas(overlap.with_database));
  }
  std::size_t width = 6;
  for (const auto& row : summaries) width = std::max(width, row.method.size());
  fmt::print("mean over {} run(s), spread in brackets\n\n{:<{}} {:>4}", summaries.front().runs, "method", width,
             "bits");
  for (const auto& [name, value] : summaries.front().mean) fmt::print(" {:>20}", name);
  fmt::print(" {:>14}\n", "train seconds");
  for (const auto& row : summaries) {
    fmt::print("{:<{}} {:>4}", row.method, width, row.bits);
    for (std::size_t v = 0; v < row.mean.size(); ++v) {
      const auto& [name, value] = row.mean[v];
      const double spread = row.spread[v].second;
      const bool plain = name.starts_with("looked_at");
      fmt::print(" {:>20}", plain ? fmt::format("{:.1f} ({:.1f})", value, spread)
                                  : fmt::format("{:.2f} % ({:.2f})", 100 * value, 100 * spread));
    }
    fmt::print(" {:>14.2f}\n", row.train_seconds);
  }
}

// From "uh-bdnn" or "uh-bdnn:paper", which names a profile.
TrainOptions training_of(const std::string& method, const EvaluateArguments& arguments) {
  const std::size_t colon = method.find(':');
  TrainOptions training;
  training.method = method.substr(0, colon);
  training.profile = colon == std::string::npos ? arguments.profile : method.substr(colon + 1);
  training.set = parse_assignments(arguments.set, arguments.pca);
  return training;
}

void evaluate_protocol(const EvaluateArguments& arguments) {
  const Protocol protocol = load_protocol(arguments.protocol);
  const std::uint64_t split_seed = arguments.split_seed > 0 ? arguments.split_seed : protocol.split.seed;
  if (arguments.split_seed > 0 && !protocol.splits()) {
    misuse("--split-seed does not apply to a protocol without a split");
  }
  if (!arguments.cache.empty() && protocol.labels_are_relevant) {
    misuse("--cache does not apply to a protocol with relevance by labels, which needs no true neighbours");
  }
  check_outputs({{"--curve", arguments.curve}}, files_of(protocol, arguments.folder));
  const auto progress = make_progress();
  const Dataset dataset = load_dataset(protocol, arguments.folder, split_seed, arguments.threads);
  const Overlap overlap = find_overlap(dataset);
  ExperimentOptions options;
  options.methods.clear();
  for (const std::string& method : arguments.methods) options.methods.push_back(training_of(method, arguments));
  options.bits = arguments.bits;
  options.seeds = arguments.seeds;
  options.encoding = arguments.encoding;
  options.rank = arguments.rank;
  options.metrics = metrics_options(arguments, protocol.metrics);
  options.cache = arguments.cache;
  options.threads = arguments.threads;
  const std::vector<ExperimentRun> runs =
      arguments.model.empty() ? run_experiment(protocol, dataset, options, *progress)
                              : std::vector<ExperimentRun>{
                                    run_experiment(protocol, dataset, load_model(arguments.model), options, *progress)};
  if (!arguments.curve.empty()) write_curve(runs.back().result, arguments.curve);
  print_runs(arguments, protocol, dataset, overlap, split_seed, runs);
}

std::string said_of_ties(Ties ties) {
  switch (ties) {
    case Ties::expected: return " (mean over all orders; default)";
    case Ties::order: return " (of the database)";
    default: return "";
  }
}

}  // namespace

void add_evaluate(Verb program) {
  const auto arguments = std::make_shared<EvaluateArguments>();
  Verb verb = add_verb(
      program, "evaluate", "Measure retrieval quality: average precision, precision and recall",
      "  bdnn evaluate --model m.bdnn --database base.fvecs --queries q.fvecs --neighbours 50\n"
      "  bdnn evaluate --database base.codes --queries q.codes --ground-truth gt.ivecs --cutoff 10000 --json\n"
      "  bdnn evaluate --model m.bdnn --database x.npy --queries q.npy --database-labels yx.npy --query-labels yq.npy\n"
      "  bdnn evaluate --model m.bdnn --database flowers.csv --label-column species --leave-one-out\n"
      "  bdnn evaluate --protocol protocols/mnist-50-neighbours.toml --folder mnist --method itq --bits 8,16,24,32 "
      "--seeds 1,2,3\n"
      "  bdnn evaluate --protocol protocols/mnist-50-neighbours.toml --folder mnist --method "
      "itq,uh-bdnn,uh-bdnn:paper\n\n"
      "docs/evaluation.md defines every measure. JSON gives fractions, the table percentages.");
  verb.text("--model", arguments->model, "Model that encodes the vectors");
  const Option database = verb.text("--database", arguments->database, "Database: codes, or vectors to encode");
  const Option queries = verb.text("--queries", arguments->queries, "Queries: codes, or vectors to encode");
  const Option neighbours = verb.number("--neighbours", arguments->neighbours,
                                        "Number of true nearest neighbours that are relevant to each query")
                                .at_least_1();
  const Option ground_truth =
      verb.text("--ground-truth", arguments->ground_truth,
                "File with the ids relevant to each query: .ivecs, .npy or FILE.hdf5:neighbors");
  const Option database_labels = verb.text("--database-labels", arguments->database_labels,
                                           "Labels of the database; vectors with the query's label are relevant");
  const Option query_labels = verb.text("--query-labels", arguments->query_labels, "Labels of the queries");
  const Option metric = verb.text("--metric", arguments->metric, "Distance that defines the true neighbours")
                            .one_of(names_of(kMetrics))
                            .shows_default();
  const Option leave_one_out = verb.flag("--leave-one-out", arguments->leave_one_out,
                                         "Use the database as queries (--queries may be omitted); each query is left "
                                         "out of its own results");
  const Option protocol =
      verb.text("--protocol", arguments->protocol, "Protocol file: data, split, relevance and metrics");
  const Option folder =
      verb.text("--folder", arguments->folder, "Folder with the protocol's data files").shows_default();
  const Option method =
      verb.texts("--method", arguments->methods,
                 "With --protocol: methods to train, separated by commas; NAME:PROFILE selects a profile")
          .separated_by(',')
          .shows_default();
  const Option bits = verb.numbers("--bits", arguments->bits, "With --protocol: code lengths, separated by commas")
                          .separated_by(',')
                          .shows_default();
  const Option seeds =
      verb.numbers("--seeds", arguments->seeds, "With --protocol: training seeds; prints mean and spread")
          .separated_by(',')
          .shows_default();
  const Option profile =
      verb.text("--profile", arguments->profile, "With --protocol: profile of the method").shows_default();
  const Option set =
      verb.texts("--set", arguments->set, "With --protocol: an option of the method, as name=value; may be repeated")
          .one_at_a_time();
  const Option pca = add_pca_option(verb, arguments->pca, "With --protocol: ");
  const Option split_seed =
      verb.number("--split-seed", arguments->split_seed, "Seed of the split (default: the protocol's)");
  add_rank_option(verb, arguments->rank);
  const CodesOptions codes = add_codes_options(verb, arguments->encoding);
  arguments->csv.add_options(verb);
  verb.text("--ties", arguments->ties, "Order of codes at equal distance: " + alternatives(kAllTies, said_of_ties))
      .one_of(names_of(kAllTies));
  verb.number("--cutoff", arguments->cutoff, "Average precision over this many results (default: all)").at_least_1();
  verb.numbers("--radius", arguments->radii, "Precision and recall within these distances (default: 2)")
      .separated_by(',');
  verb.numbers("--at", arguments->at, "Precision and recall among the first N results").separated_by(',').at_least_1();
  const Option curve =
      verb.text("--curve", arguments->curve, "Write precision and recall over all radii to this CSV file");
  const Option cache = verb.text("--cache", arguments->cache, "Folder to cache true neighbours in");
  add_threads_option(verb, arguments->threads);
  add_json_option(verb, arguments->json);
  const std::vector<Option> of_files = {database,        queries,      neighbours, ground_truth,
                                        database_labels, query_labels, metric,     leave_one_out};
  const std::vector<Option> of_protocol = {folder, split_seed};
  const std::vector<Option> of_training = {method, bits, seeds, profile, set, pca};
  verb.runs([=] {
    arguments->encoding.threads = arguments->threads;
    if (protocol.given()) {
      codes.check(arguments->encoding, "");
      refuse(of_files, "with --protocol, which defines the database, the queries and what is relevant");
      arguments->csv.check({});
      if (!arguments->model.empty()) refuse(of_training, "with --model, which is already trained");
      if (arguments->methods.size() * arguments->bits.size() * arguments->seeds.size() > 1)
        refuse({curve}, "to several runs; give a single value of --method, --bits and --seeds");
    } else {
      refuse(of_protocol, "without --protocol");
      refuse(of_training, "without --protocol, which provides the training data");
      if (arguments->neighbours == 0 || !arguments->ground_truth.empty()) {
        refuse({metric, cache}, "unless --neighbours is given without --ground-truth");
      }
      codes.check(arguments->encoding, arguments->database);
      if (arguments->leave_one_out) {  // the queries are the database
        if (arguments->queries.empty()) arguments->queries = arguments->database;
        if (arguments->query_labels.empty()) arguments->query_labels = arguments->database_labels;
      }
      if (arguments->database_labels.empty() != arguments->query_labels.empty()) {
        misuse("give --database-labels and --query-labels together");
      }
    }
    if (arguments->rank != RankBy::hamming && (!arguments->radii.empty() || !arguments->curve.empty())) {
      misuse("--radius and --curve need Hamming distance, not --rank {}", name_of(arguments->rank));
    }
    check_outputs({{"--curve", arguments->curve}}, {{"--model", arguments->model},
                                                    {"--database", arguments->database},
                                                    {"--queries", arguments->queries},
                                                    {"--database-labels", arguments->database_labels},
                                                    {"--query-labels", arguments->query_labels},
                                                    {"--ground-truth", arguments->ground_truth},
                                                    {"--protocol", arguments->protocol}});
    if (protocol.given()) return evaluate_protocol(*arguments);
    with_column_hint([&] { evaluate_files(*arguments); });
  });
}

}  // namespace bdnn::cli
