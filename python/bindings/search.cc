#include "bdnn/search.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "arrays.h"
#include "bdnn/encode.h"
#include "bdnn/index.h"
#include "bdnn/rank_by.h"
#include "bdnn/rerank.h"
#include "bdnn/scores.h"
#include "bdnn/spherical.h"
#include "job.h"
#include "models.h"
#include "module.h"
#include "pool.h"

namespace bdnn::python {
namespace {

using Uint64s = py::array_t<std::uint64_t, py::array::c_style>;

// The lists of all queries, one after the other: list q is entries [ends[q - 1], ends[q]).
struct Found {
  std::vector<std::uint64_t> ids;
  std::vector<std::int32_t> distances;
  std::vector<double> scores;
  std::vector<std::int64_t> ends;

  void append(const Results& results) {
    for (std::size_t q = 0; q < results.size(); ++q) {
      for (const auto& [id, distance] : results[q]) {
        ids.push_back(id);
        distances.push_back(static_cast<std::int32_t>(distance));
      }
      ends.push_back(static_cast<std::int64_t>(ids.size()));
    }
  }
  void append(const RankedResults& results) {
    for (std::size_t q = 0; q < results.size(); ++q) {
      for (const auto& [id, score, distance] : results[q]) {
        ids.push_back(id);
        distances.push_back(static_cast<std::int32_t>(distance));
        scores.push_back(score);
      }
      ends.push_back(static_cast<std::int64_t>(ids.size()));
    }
  }
  void reserve(std::size_t entries, std::size_t queries) {
    ids.reserve(entries);
    distances.reserve(entries);
    ends.reserve(queries);
  }

  py::tuple arrays() {
    return py::make_tuple(array_of(std::move(ids)), array_of(std::move(distances)), array_of(std::move(scores)),
                          array_of(std::move(ends)));
  }
};

// Calls work(first, count) for pieces of the queries that take about half a second each, so that Ctrl-C is seen to.
template <class Work>
void in_timed_pieces(std::size_t queries, const Work& work) {
  constexpr double kSeconds = 0.5;
  constexpr double kMostGrowth = 16;
  std::size_t piece = 1024;
  for (std::size_t first = 0; first < queries;) {
    const std::size_t count = std::min(piece, queries - first);
    const auto start = std::chrono::steady_clock::now();
    work(first, count);
    first += count;
    if (first >= queries) return;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const double growth = std::clamp(kSeconds / std::max(taken.count(), 1e-6), 1 / kMostGrowth, kMostGrowth);
    piece = std::max<std::size_t>(256, static_cast<std::size_t>(static_cast<double>(count) * growth));
    check_signals();
  }
}

IndexKeys keys_of(const std::optional<Uint64s>& ids, const std::optional<std::vector<std::string>>& names) {
  IndexKeys keys;
  if (ids) keys.ids = vector_of(*ids);
  if (names) keys.names = *names;
  return keys;
}

IndexOptions index_options(const std::optional<std::string>& tables, int threads, bool ignore_missing = false) {
  IndexOptions options{.threads = threads, .ignore_missing = ignore_missing};
  if (tables) options.tables = tables_by_name(*tables);
  return options;
}

SearchOptions search_options(std::size_t k, std::optional<std::size_t> radius, const std::string& plan) {
  return {.k = k, .radius = radius, .plan = plan_by_name(plan)};
}

py::dict facts_of(const PlanEstimate& estimate) {
  py::dict facts;
  facts["plan"] = std::string(name_of(estimate.plan));
  facts["microseconds"] = estimate.microseconds;
  facts["scan_microseconds"] = estimate.scan_microseconds;
  facts["table_microseconds"] = estimate.hash_table_microseconds;
  facts["text"] = estimate.text;
  return facts;
}

// An index and the searchers that work on it. Any number of threads may use the same one.
class PreparedIndex {
 public:
  explicit PreparedIndex(Index index) : index_(std::move(index)) {}

  const Index& index() const { return index_; }

  template <class Work>
  auto with_searcher(int threads, const Work& work) {
    auto searcher = searchers_.borrow(threads, [&] { return std::make_unique<Searcher>(threads); });
    auto result = work(*searcher);
    searchers_.give_back(threads, std::move(searcher));
    return result;
  }

  Found search(const Codes& queries, const SearchOptions& options, int threads, const Filter* filter) {
    return with_searcher(threads, [&](Searcher& searcher) {
      Found found;
      Results results;
      in_timed_pieces(queries.size(), [&](std::size_t first, std::size_t count) {
        searcher.search(index_, queries.slice(first, count), options, results, filter);
        if (first == 0 && !options.radius) found.reserve(results[0].size() * queries.size(), queries.size());
        found.append(results);
      });
      return found;
    });
  }

 private:
  Index index_;
  Pool<int, Searcher> searchers_;
};

using IndexHolder = std::shared_ptr<PreparedIndex>;

py::dict facts_of(const IndexInfo& info) {
  py::dict facts;
  facts["bits"] = info.bits;
  facts["size"] = info.size;
  facts["removed"] = info.removed;
  facts["segments"] = info.segments;
  facts["tables"] = info.tables;
  facts["keys"] = info.names ? "names" : "ids";
  facts["bytes"] = info.bytes;
  facts["unused_bytes"] = info.unused;
  facts["duplicates"] = info.duplicates;
  facts["method"] = info.origin.method;
  facts["model"] = info.origin.model;
  facts["refined"] = info.origin.refined;
  facts["warnings"] = info.warnings;
  return facts;
}

py::dict facts_of(const IndexChange& change) {
  py::dict facts;
  facts["added"] = change.added;
  facts["replaced"] = change.replaced;
  facts["removed"] = change.removed;
  facts["missing"] = change.missing;
  facts["warnings"] = change.warnings;
  return facts;
}

// The names behind ids, as an array of str.
py::array names_of(const Index& index, const Uint64s& ids) {
  py::array names(py::dtype("O"), std::vector<py::ssize_t>{ids.size()});
  auto* const out = static_cast<PyObject**>(names.mutable_data());
  for (py::ssize_t i = 0; i < ids.size(); ++i) {
    const std::string_view name = index.name(ids.data()[i]);
    PyObject* const text = PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "surrogateescape");
    if (text == nullptr) throw py::error_already_set();
    Py_XDECREF(std::exchange(out[i], text));
  }
  return names;
}

// A shortlist of each query by Hamming distance, ranked by the codes (`by`) or by the original vectors.
Found ranked_search(PreparedIndex& self, const Codes& codes, const SearchOptions& options, std::size_t shortlist,
                    int threads, const Filter* filter, const std::function<std::unique_ptr<Ranking>()>& make_ranking) {
  const std::unique_ptr<Ranking> ranking = make_ranking();
  return self.with_searcher(threads, [&](Searcher& searcher) {
    SearchOptions longer = options;
    longer.k = std::max(options.k, shortlist);
    Results shortlists;
    RankedResults ranked;
    searcher.search(self.index(), codes, longer, shortlists, filter);
    rerank(shortlists, *ranking, options.k, threads, ranked);
    Found found;
    found.append(ranked);
    return found;
  });
}

}  // namespace

void add_search(py::module_& module) {
  module.attr("PLANS") = names_of(kAllPlans);
  module.attr("RANKS") = names_of(kAllRanks);
  module.attr("TABLES") = names_of(kAllTables);
  py::class_<Filter, std::shared_ptr<Filter>>(module, "Filter")
      .def(py::init([](const PreparedIndex& index, const Uint64s& ids) {
        return Filter(index.index(), std::span<const std::uint64_t>(ids.data(), static_cast<std::size_t>(ids.size())));
      }))
      .def(py::init([](const PreparedIndex& index, const std::vector<std::string>& names) {
        return Filter(index.index(), std::span<const std::string>(names));
      }))
      .def_static("from_bitmap",
                  [](const PreparedIndex& index, const py::array_t<std::uint8_t>& bitmap) {
                    return Filter::from_bitmap(index.index(), {bitmap.data(), static_cast<std::size_t>(bitmap.size())});
                  })
      .def("fits", [](const Filter& self, const PreparedIndex& index) { return self.fits(index.index()); });

  py::class_<PreparedIndex, IndexHolder>(module, "Index")
      .def_static("open",
                  [](const std::string& path, bool load) {
                    const py::gil_scoped_release no_gil;
                    return std::make_shared<PreparedIndex>(load ? Index::load(path) : Index::open(path));
                  })
      .def_static("build",
                  [](const py::array& array, std::size_t bits, const CodesOrigin& origin,
                     const std::optional<Uint64s>& ids, const std::optional<std::vector<std::string>>& names,
                     const std::optional<std::string>& tables, int threads) {
                    const Codes codes = codes_of(array, bits, origin);
                    const IndexKeys keys = keys_of(ids, names);
                    const py::gil_scoped_release no_gil;
                    return std::make_shared<PreparedIndex>(Index::build(codes, keys, index_options(tables, threads)));
                  })
      .def_property_readonly("bits", [](const PreparedIndex& self) { return self.index().bits(); })
      .def("__len__", [](const PreparedIndex& self) { return self.index().size(); })
      .def_property_readonly("info", [](const PreparedIndex& self) { return facts_of(self.index().info()); })
      .def("names", [](const PreparedIndex& self, const Uint64s& ids) { return names_of(self.index(), ids); })
      .def("check_model", [](const PreparedIndex& self,
                             const PreparedModel& model) { check_index_matches(model.model(), self.index()); })
      .def("search",
           [](PreparedIndex& self, const py::array& queries, std::size_t k, std::optional<std::size_t> radius,
              const std::string& plan, int threads, const std::shared_ptr<Filter>& filter) {
             const Codes codes = codes_of(queries, self.index().bits());
             const SearchOptions options = search_options(k, radius, plan);
             Found found;
             {
               const py::gil_scoped_release no_gil;
               found = self.search(codes, options, threads, filter.get());
             }
             return found.arrays();
           })
      .def("search_by_codes",
           [](PreparedIndex& self, const py::array& query_codes, const std::optional<py::array>& query_vectors,
              std::size_t k, std::size_t shortlist, const std::string& rank_by, const PreparedModel* model,
              const std::string& plan, int threads, const std::shared_ptr<Filter>& filter) {
             const Codes codes = codes_of(query_codes, self.index().bits());
             const RankBy by = rank_by_name(rank_by);
             const SearchOptions options = search_options(k, {}, plan);
             const Vectors vectors = query_vectors ? vectors_of(*query_vectors) : Vectors();
             Found found;
             {
               const py::gil_scoped_release no_gil;
               found = ranked_search(self, codes, options, shortlist, threads, filter.get(),
                                     [&]() -> std::unique_ptr<Ranking> {
                                       if (by == RankBy::spherical) {
                                         return std::make_unique<SphericalRanking>(self.index(), codes);
                                       }
                                       return std::make_unique<CodeRanking>(model->model(), by, self.index(), vectors);
                                     });
             }
             return found.arrays();
           })
      .def("search_by_vectors",
           [](PreparedIndex& self, const py::array& query_codes, const py::array& query_vectors, std::size_t k,
              std::size_t shortlist, const py::object& originals, const std::optional<Uint64s>& ids,
              const std::optional<std::vector<std::string>>& names, const std::string& plan, int threads,
              const std::shared_ptr<Filter>& filter) {
             const Codes codes = codes_of(query_codes, self.index().bits());
             const Vectors vectors = vectors_of(query_vectors);
             const SearchOptions options = search_options(k, {}, plan);
             const IndexKeys keys = keys_of(ids, names);
             const bool in_file = py::isinstance<py::bytes>(originals);
             const std::string path = in_file ? originals.cast<std::string>() : "";
             const Vectors base = in_file ? Vectors() : vectors_of(originals.cast<py::array>());
             Found found;
             {
               const py::gil_scoped_release no_gil;
               found = ranked_search(self, codes, options, shortlist, threads, filter.get(), [&] {
                 const bool own_keys = ids || names;
                 const Index& index = self.index();
                 if (in_file) {
                   return own_keys ? std::make_unique<VectorRanking>(path, vectors, index, keys)
                                   : std::make_unique<VectorRanking>(path, vectors);
                 }
                 return own_keys ? std::make_unique<VectorRanking>(base, vectors, index, keys)
                                 : std::make_unique<VectorRanking>(base, vectors);
               });
             }
             return found.arrays();
           })
      .def("explain", [](PreparedIndex& self, std::size_t queries, std::size_t k, std::optional<std::size_t> radius,
                         const std::string& plan, int threads, const std::shared_ptr<Filter>& filter) {
        const SearchOptions options = search_options(k, radius, plan);
        return facts_of(self.with_searcher(threads, [&](Searcher& searcher) {
          return searcher.explain(self.index(), queries, options, filter.get());
        }));
      });

  // Changes to index files.
  module.def("build_index",
             [](const std::string& path, const py::array& array, std::size_t bits, const CodesOrigin& origin,
                const std::optional<Uint64s>& ids, const std::optional<std::vector<std::string>>& names,
                const std::optional<std::string>& tables, int threads) {
               const Codes codes = codes_of(array, bits, origin);
               const IndexKeys keys = keys_of(ids, names);
               const py::gil_scoped_release no_gil;
               build_index(path, codes, keys, index_options(tables, threads));
             });
  module.def("change_index", [](const std::string& path, bool replace, const py::array& array, std::size_t bits,
                                const CodesOrigin& origin, const std::optional<Uint64s>& ids,
                                const std::optional<std::vector<std::string>>& names,
                                const std::optional<std::string>& tables, int threads) {
    const Codes codes = codes_of(array, bits, origin);
    const IndexKeys keys = keys_of(ids, names);
    IndexChange change;
    {
      const py::gil_scoped_release no_gil;
      const IndexOptions options = index_options(tables, threads);
      change = replace ? upsert_in_index(path, codes, keys, options) : add_to_index(path, codes, keys, options);
    }
    return facts_of(change);
  });
  module.def("remove_from_index",
             [](const std::string& path, const std::optional<Uint64s>& ids,
                const std::optional<std::vector<std::string>>& names, bool ignore_missing, int threads) {
               const IndexKeys keys = keys_of(ids, names);
               IndexChange change;
               {
                 const py::gil_scoped_release no_gil;
                 change = remove_from_index(path, keys, index_options({}, threads, ignore_missing));
               }
               return facts_of(change);
             });
  module.def("compact_index", [](const std::string& path, const std::optional<std::string>& tables, int threads) {
    const py::gil_scoped_release no_gil;
    compact_index(path, index_options(tables, threads));
  });
  module.def("verify_index", [](const std::string& path) {
    const py::gil_scoped_release no_gil;
    verify_index(path);
  });
  module.def("salvage_index", [](const std::string& path, int threads) {
    IndexSalvage salvage;
    {
      const py::gil_scoped_release no_gil;
      salvage = salvage_index(path, index_options({}, threads));
    }
    py::dict facts;
    facts["kept"] = salvage.kept;
    facts["lost"] = salvage.lost;
    facts["lost_ids"] = salvage.lost_ids;
    facts["lost_names"] = salvage.lost_names;
    facts["damage"] = salvage.damage;
    return facts;
  });

  // Exhaustive scans by a distance other than Hamming's.
  py::class_<ScoreScan, std::shared_ptr<ScoreScan>>(module, "ScoreScan")
      .def(py::init([](const PreparedModel& model, const std::string& rank_by, const py::array& array, int threads) {
        const Codes codes = codes_of(array, model.model().bits());
        const py::gil_scoped_release no_gil;
        return std::make_shared<ScoreScan>(model.model(), rank_by_name(rank_by), codes, threads);
      }))
      .def("search", [](const ScoreScan& self, const py::array& queries, std::size_t k, int threads) {
        const Vectors vectors = vectors_of(queries);
        Found found;
        {
          const py::gil_scoped_release no_gil;
          RankedResults results;
          self.search(vectors, k, results, threads);
          found.append(results);
        }
        return found.arrays();
      });
  py::class_<SphericalScan, std::shared_ptr<SphericalScan>>(module, "SphericalScan")
      .def(py::init([](const py::array& array, std::size_t bits, int threads) {
        const Codes codes = codes_of(array, bits);
        const py::gil_scoped_release no_gil;
        return std::make_shared<SphericalScan>(codes, threads);
      }))
      .def("search",
           [](const SphericalScan& self, const py::array& queries, std::size_t bits, std::size_t k, int threads) {
             const Codes codes = codes_of(queries, bits);
             Found found;
             {
               const py::gil_scoped_release no_gil;
               RankedResults results;
               self.search(codes, k, results, threads);
               found.append(results);
             }
             return found.arrays();
           });
}

}  // namespace bdnn::python
