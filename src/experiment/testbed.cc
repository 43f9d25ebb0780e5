#include "experiment/testbed.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"

namespace bdnn {
namespace {

Codes encode_part(const Model& model, const Vectors& vectors, const std::string& part, const EncodeOptions& options) {
  return with_name("the protocol's " + part, [&] { return encode(model, vectors, options); });
}

}  // namespace

Testbed::Testbed(const Protocol& protocol, const Dataset& dataset, const ExperimentOptions& options, Progress& progress)
    : name_(protocol.name), dataset_(dataset), options_(options) {
  if (protocol.labels_are_relevant) {
    relevance_ = Relevance::labels(dataset.database_labels, dataset.query_labels);
  } else {
    GroundTruthOptions neighbours = protocol.neighbours;
    neighbours.self = dataset.self;
    neighbours.threads = options.threads;
    truth_ = cached_neighbours(dataset.database, dataset.queries, neighbours, options.cache, progress);
    relevance_ = Relevance::neighbours(truth_.ids, truth_.k);
  }
  relevance_.self = dataset.self;
}

Testbed::Trained Testbed::train(TrainOptions training, Progress& progress) const {
  training.labels = dataset_.train_labels;
  training.data_name = name_;
  const Vectors vectors = dataset_.parts(reduces_vectors(training)).train;
  const auto started = std::chrono::steady_clock::now();
  Model model = bdnn::train(vectors, training, progress);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  return {std::move(model), took.count()};
}

Testbed::Measured Testbed::measure(const Model& model, int threads, Progress& progress) const {
  EncodeOptions encoding = options_.encoding;
  encoding.threads = threads;
  MetricsOptions metrics = options_.metrics;
  metrics.threads = threads;
  const Dataset::Parts parts = dataset_.parts(model.reduction.has_value());
  Measured measured;
  measured.database = encode_part(model, parts.database, "database", encoding);
  if (!compares_codes(options_.rank)) {
    measured.result =
        evaluate_scores(model, options_.rank, measured.database, parts.queries, relevance_, metrics, progress);
    return measured;
  }
  measured.queries = encode_part(model, parts.queries, "queries", {.threads = threads});
  measured.result = evaluate_codes(measured.database, measured.queries, relevance_, metrics, progress, options_.rank);
  return measured;
}

bool Testbed::relevant(std::size_t query, std::size_t item) const {
  if (const auto* labels = std::get_if<Relevance::Labels>(&relevance_.of)) {
    return labels->queries[query] == labels->database[item];
  }
  const auto& neighbours = std::get<Relevance::Neighbours>(relevance_.of);
  const auto ids = neighbours.ids.subspan(query * neighbours.per_query, neighbours.per_query);
  return std::find(ids.begin(), ids.end(), static_cast<std::int32_t>(item)) != ids.end();
}

}  // namespace bdnn
