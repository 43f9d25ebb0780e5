#include <pybind11/stl.h>

#include "arrays.h"
#include "bdnn/diagnostics.h"
#include "bdnn/experiment.h"
#include "bdnn/ground_truth.h"
#include "bdnn/metrics.h"
#include "bdnn/protocol.h"
#include "job.h"
#include "models.h"
#include "module.h"

namespace bdnn::python {
namespace {

using Int64s = py::array_t<std::int64_t, py::array::c_style>;
using Int32s = py::array_t<std::int32_t, py::array::c_style>;

py::array array_of_truth(GroundTruth truth) {
  const auto queries = static_cast<py::ssize_t>(truth.queries());
  const auto k = static_cast<py::ssize_t>(truth.k);
  return array_of(std::move(truth.ids), {queries, k});
}

GroundTruth truth_of(const Int32s& ids) { return {static_cast<std::size_t>(ids.shape(1)), vector_of(ids)}; }

py::dict dict_of(const NamedValues& values) {
  py::dict dict;
  for (const auto& [name, value] : values) dict[py::str(name)] = value;
  return dict;
}

py::list list_of(const std::vector<MetricsResult::AtRadius>& entries) {
  py::list list;
  for (const auto& at : entries) {
    py::dict entry;
    entry["radius"] = at.radius;
    entry["precision"] = at.precision;
    entry["recall"] = at.recall;
    entry["empty"] = at.empty;
    entry["looked_at"] = at.looked_at;
    list.append(entry);
  }
  return list;
}

py::tuple tuple_of(const MetricsResult& result) {
  return py::make_tuple(dict_of(values_of(result)), list_of(result.curve));
}

MetricsOptions metrics_options(const std::string& ties, std::size_t cutoff, std::vector<std::size_t> radii,
                               std::vector<std::size_t> at, bool curve, int threads) {
  return {ties_by_name(ties), cutoff, std::move(radii), std::move(at), curve, threads};
}

// By neighbours (an int32 array, a row per query) or by labels.
struct Relevant {
  std::optional<Int32s> neighbours;
  std::optional<Int64s> database_labels;
  std::optional<Int64s> query_labels;
  std::optional<Int64s> self;

  Relevance relevance() const {
    Relevance relevance;
    if (neighbours) {
      relevance = Relevance::neighbours({neighbours->data(), static_cast<std::size_t>(neighbours->size())},
                                        static_cast<std::size_t>(neighbours->shape(1)));
    } else {
      relevance = Relevance::labels(vector_of(*database_labels), vector_of(*query_labels));
    }
    if (self) relevance.self = vector_of(*self);
    return relevance;
  }
};

py::dict facts_of(CodesDiagnostics diagnostics, bool of_classes) {
  py::dict facts;
  const auto bits = static_cast<py::ssize_t>(diagnostics.bits);
  facts["summary"] = summary_of(diagnostics);
  facts["warnings"] = warnings_of(diagnostics, of_classes);
  facts["bits"] = diagnostics.bits;
  facts["count"] = diagnostics.count;
  facts["balance"] = array_of(std::move(diagnostics.balance));
  facts["largest_imbalance"] = diagnostics.largest_imbalance;
  facts["correlation"] = array_of(std::move(diagnostics.correlation), {bits, bits});
  facts["largest_correlation"] = diagnostics.largest_correlation;
  facts["largest_pair"] = py::make_tuple(diagnostics.largest_pair[0], diagnostics.largest_pair[1]);
  facts["mean_correlation"] = diagnostics.mean_correlation;
  facts["distinct"] = diagnostics.distinct;
  facts["duplicates"] = diagnostics.duplicates;
  facts["entropy"] = diagnostics.entropy;
  facts["bit_entropy"] = diagnostics.bit_entropy;
  facts["distances"] = array_of(std::move(diagnostics.distances));
  facts["mean_distance"] = diagnostics.mean_distance;
  facts["distance_deviation"] = diagnostics.distance_deviation;
  return facts;
}

py::list rows_of(const std::vector<ExperimentRun>& runs) {
  py::list rows;
  for (const ExperimentRun& run : runs) {
    py::dict row;
    row["method"] = run.method;
    row["bits"] = run.bits;
    row["seed"] = run.seed;
    row["train_seconds"] = run.train_seconds;
    row["metrics"] = dict_of(values_of(run.result));
    row["curve"] = list_of(run.result.curve);
    rows.append(row);
  }
  return rows;
}

}  // namespace

void add_evaluation(py::module_& module) {
  module.attr("METRICS") = names_of(kMetrics);
  module.attr("TIES") = names_of(kAllTies);
  module.def("exact_neighbours", [](const py::array& database, const py::array& queries, std::size_t k,
                                    const std::string& metric, const std::optional<Int64s>& self,
                                    const std::string& cache, int threads, const py::object& listener) {
    GroundTruthOptions options{.k = k, .metric = metric_by_name(metric), .threads = threads};
    if (self) options.self = vector_of(*self);
    const Vectors base = vectors_of(database);
    const Vectors asked = vectors_of(queries);
    return array_of_truth(job_result(
        listener, [&](Progress& progress) { return cached_neighbours(base, asked, options, cache, progress); }));
  });
  module.def("save_ground_truth",
             [](const Int32s& ids, const std::string& path) { save_ground_truth(truth_of(ids), path); });
  module.def("load_ground_truth",
             [](const std::string& path, std::size_t database, std::size_t queries, std::size_t k) {
               return array_of_truth(load_ground_truth(path, database, queries, k));
             });
  module.def("evaluate_codes", [](const py::array& database, const py::array& queries, std::size_t bits,
                                  const std::optional<Int32s>& neighbours, const std::optional<Int64s>& database_labels,
                                  const std::optional<Int64s>& query_labels, const std::optional<Int64s>& self,
                                  const std::string& rank_by, const std::string& ties, std::size_t cutoff,
                                  std::vector<std::size_t> radii, std::vector<std::size_t> at, bool curve, int threads,
                                  const py::object& listener) {
    const auto options = metrics_options(ties, cutoff, std::move(radii), std::move(at), curve, threads);
    const Codes base = codes_of(database, bits);
    const Codes asked = codes_of(queries, bits);
    const Relevance relevance = Relevant{neighbours, database_labels, query_labels, self}.relevance();
    const RankBy by = rank_by_name(rank_by);
    return tuple_of(job_result(
        listener, [&](Progress& progress) { return evaluate_codes(base, asked, relevance, options, progress, by); }));
  });
  module.def("evaluate_scores",
             [](const PreparedModel& model, const py::array& database, const py::array& queries,
                const std::optional<Int32s>& neighbours, const std::optional<Int64s>& database_labels,
                const std::optional<Int64s>& query_labels, const std::optional<Int64s>& self,
                const std::string& rank_by, const std::string& ties, std::size_t cutoff, std::vector<std::size_t> at,
                int threads, const py::object& listener) {
               const auto options = metrics_options(ties, cutoff, {}, std::move(at), false, threads);
               const Codes base = codes_of(database, model.model().bits());
               const Vectors asked = vectors_of(queries);
               const Relevance relevance = Relevant{neighbours, database_labels, query_labels, self}.relevance();
               const RankBy by = rank_by_name(rank_by);
               return tuple_of(job_result(listener, [&](Progress& progress) {
                 return evaluate_scores(model.model(), by, base, asked, relevance, options, progress);
               }));
             });
  module.def("diagnose_codes", [](const py::array& array, std::size_t bits, bool of_classes, int threads) {
    const Codes codes = codes_of(array, bits);
    CodesDiagnostics diagnostics;
    {
      const py::gil_scoped_release no_gil;
      diagnostics = diagnose_codes(codes, threads);
    }
    return facts_of(std::move(diagnostics), of_classes);
  });
  module.def("diagnose_quantization", [](const PreparedModel& model, const py::array& x, int threads) {
    const Vectors vectors = vectors_of(x);
    QuantizationDiagnostics diagnostics;
    {
      const py::gil_scoped_release no_gil;
      diagnostics = diagnose_quantization(model.model(), vectors, threads);
    }
    py::dict facts;
    facts["mean_magnitude"] = diagnostics.mean_magnitude;
    facts["error"] = diagnostics.error;
    return facts;
  });

  py::class_<Protocol>(module, "Protocol")
      .def_static("load", [](const std::string& path) { return load_protocol(path); })
      .def_readonly("name", &Protocol::name)
      .def_readonly("description", &Protocol::description)
      .def_property_readonly("splits", &Protocol::splits)
      .def_property_readonly("seed", [](const Protocol& self) { return self.split.seed; })
      .def_readonly("leave_one_out", &Protocol::leave_one_out)
      .def_readonly("labels_are_relevant", &Protocol::labels_are_relevant)
      .def_property_readonly("n_neighbors", [](const Protocol& self) { return self.neighbours.k; })
      .def_property_readonly("metric",
                             [](const Protocol& self) { return std::string(name_of(self.neighbours.metric)); })
      .def_property_readonly("radii", [](const Protocol& self) { return self.metrics.radii; })
      .def_property_readonly("at", [](const Protocol& self) { return self.metrics.at; })
      .def_property_readonly("cutoff", [](const Protocol& self) { return self.metrics.cutoff; });
  py::class_<Dataset>(module, "ProtocolData")
      .def_property_readonly("train", [](const Dataset& self) { return array_of(self.train, false); })
      .def_property_readonly("database", [](const Dataset& self) { return array_of(self.database, false); })
      .def_property_readonly("queries", [](const Dataset& self) { return array_of(self.queries, false); })
      .def_property_readonly("train_labels", [](const Dataset& self) { return array_of(self.train_labels); })
      .def_property_readonly("database_labels", [](const Dataset& self) { return array_of(self.database_labels); })
      .def_property_readonly("query_labels", [](const Dataset& self) { return array_of(self.query_labels); })
      .def_property_readonly("self", [](const Dataset& self) { return array_of(self.self); })
      .def_property_readonly("train_rows", [](const Dataset& self) { return array_of(self.train_rows); })
      .def_property_readonly("query_rows", [](const Dataset& self) { return array_of(self.query_rows); })
      .def("hashes",
           [](const Dataset& self) {
             const DatasetHashes hashes = hash_dataset(self);
             py::dict facts;
             facts["train"] = hashes.train;
             facts["database"] = hashes.database;
             facts["queries"] = hashes.queries;
             return facts;
           })
      .def("overlap", [](const Dataset& self) {
        const Overlap overlap = find_overlap(self);
        py::dict facts;
        facts["with_training"] = overlap.with_training;
        facts["with_database"] = overlap.with_database;
        return facts;
      });
  module.def("load_dataset", [](const Protocol& protocol, const std::string& folder, std::uint64_t seed, int threads) {
    const py::gil_scoped_release no_gil;
    return load_dataset(protocol, folder, seed, threads);
  });
  module.def(
      "run_experiment",
      [](const Protocol& protocol, const Dataset& dataset,
         const std::vector<std::pair<std::string, std::map<std::string, std::string>>>& methods,
         std::vector<std::size_t> bits, std::vector<std::uint64_t> seeds, bool refined, const std::string& rank_by,
         bool curve, const std::string& cache, int threads, const py::object& listener) {
        ExperimentOptions options{.methods = {},
                                  .bits = std::move(bits),
                                  .seeds = std::move(seeds),
                                  .encoding = {.refined = refined},
                                  .rank = rank_by_name(rank_by),
                                  .metrics = protocol.metrics,
                                  .cache = cache,
                                  .threads = threads};
        options.metrics.curve = curve;
        for (const auto& [method, set] : methods) {
          options.methods.push_back({.method = method, .set = set});
        }
        return rows_of(job_result(
            listener, [&](Progress& progress) { return run_experiment(protocol, dataset, options, progress); }));
      });
}

}  // namespace bdnn::python
