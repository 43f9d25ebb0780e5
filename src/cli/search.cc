#include "bdnn/search.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/codes_input.h"
#include "cli/command.h"
#include "cli/csv_input.h"
#include "cli/index_input.h"
#include "cli/keys_input.h"
#include "codes/codes_file.h"

namespace bdnn::cli {
namespace {

struct SearchArguments {
  std::string model;
  std::string database;
  std::string index;
  std::string queries;
  std::string database_labels;
  std::string query_labels;
  std::string plan = "automatic";
  std::string rerank;
  RankBy rank = RankBy::hamming;
  EncodeOptions encoding;  // of a database of vectors
  KeyArguments only;
  KeyArguments rerank_keys;  // of the vectors to rank by
  CsvInput csv;
  SearchOptions options;
  std::size_t radius = 0;
  std::size_t shortlist = 0;  // 0: the default of the ranking
  std::size_t first = 0;
  bool explain = false;
  bool json = false;
};

// The results of all queries, with everything needed to print them.
struct Answer {
  std::optional<Index> index;  // if the ids are its
  Results results;
  RankedResults ranked;  // if the results were reranked
  std::size_t size = 0;
  std::size_t bits = 0;
  std::vector<std::int64_t> database_labels;
  std::vector<std::int64_t> query_labels;
  LabelNames label_names;
  PlanEstimate expected;
  double seconds = 0;
  double rerank_seconds = 0;

  std::size_t queries() const { return std::max(results.size(), ranked.size()); }

  bool has_names() const { return index && index->info().names; }
  Json key(std::uint64_t id) const { return has_names() ? Json(index->name(id)) : Json(id); }
  std::string key_text(std::uint64_t id) const { return has_names() ? printable(index->name(id)) : std::to_string(id); }

  Json label(std::int64_t label) const {
    const auto name = label_names.find(label);
    return name != label_names.end() ? Json(name->second) : Json(label);
  }
  std::string label_text(std::int64_t label) const {
    const auto name = label_names.find(label);
    return name != label_names.end() ? printable(name->second) : std::to_string(label);
  }
};

// The queries of a search: as codes, as vectors, or both.
struct Queries {
  std::size_t in_file = 0;
  Codes codes;
  Vectors vectors;
};

// Loads the queries in the forms needed, and encodes only those that are searched for.
Queries load_queries(const SearchArguments& arguments, const std::optional<Model>& model, bool need_codes,
                     bool need_vectors) {
  const auto first = [&](std::size_t count) {
    return arguments.first == 0 ? count : std::min<std::size_t>(arguments.first, count);
  };
  Queries queries;
  const VectorsFile file = arguments.csv.file(arguments.queries);
  const bool by_scores = !compares_codes(arguments.rank);
  if (!by_scores && (!model || is_codes_file(arguments.queries))) {
    queries.codes = codes_from(file, model, {.threads = arguments.options.threads});
    queries.in_file = queries.codes.size();
    queries.codes = queries.codes.slice(0, first(queries.in_file));
    if (need_vectors) queries.vectors = load_vectors(file);
  } else {
    queries.vectors = by_scores ? query_vectors_from(file, model, arguments.rank) : vectors_for(*model, file);
    queries.in_file = queries.vectors.size();
  }
  queries.vectors = queries.vectors.slice(0, first(queries.vectors.size()));
  if (need_codes && queries.codes.bits() == 0) {
    queries.codes = encode_named(*model, queries.vectors, arguments.queries, {.threads = arguments.options.threads});
  }
  return queries;
}

// Searches an index: one from a file, or one built for this search if a filter needs it.
void search_index(const SearchArguments& arguments, const SearchOptions& options, const Codes& queries,
                  Answer& answer) {
  const IndexKeys keys = keys_from(arguments.only);
  const bool by_name = answer.index->info().names;
  if (by_name ? !keys.ids.empty() : !keys.names.empty()) {
    misuse("the keys of the database are {}; restrict the search by --{}", by_name ? "names" : "ids",
           by_name ? "names" : "ids");
  }
  std::optional<Filter> filter;
  if (!arguments.only.names_file.empty()) filter.emplace(*answer.index, std::span<const std::string>(keys.names));
  if (!arguments.only.ids_file.empty()) filter.emplace(*answer.index, std::span<const std::uint64_t>(keys.ids));
  Searcher searcher(options.threads);
  answer.expected = searcher.explain(*answer.index, queries.size(), options, filter ? &*filter : nullptr);
  const Stopwatch watch;
  searcher.search(*answer.index, queries, options, answer.results, filter ? &*filter : nullptr);
  answer.seconds = watch.seconds();
}

void search_codes(const Codes& database, const SearchOptions& options, const Codes& queries, Answer& answer) {
  answer.expected = explain(database, queries.size(), options);
  const Stopwatch watch;
  answer.results = search(database, queries, options);
  answer.seconds = watch.seconds();
}

void print_explanation(const SearchArguments& arguments, const Answer& answer) {
  const double measured = 1e6 * answer.seconds / static_cast<double>(std::max<std::size_t>(answer.queries(), 1));
  if (arguments.json) {
    print_json({{"plan", name_of(answer.expected.plan)},
                {"expected_microseconds", answer.expected.microseconds},
                {"expected_scan_microseconds", answer.expected.scan_microseconds},
                {"expected_table_microseconds", answer.expected.hash_table_microseconds},
                {"measured_microseconds", measured},
                {"queries", answer.queries()}});
    return;
  }
  fmt::print("{}plan: {}; expected {:.3g} us per query, measured {:.3g} us over {} queries\n", answer.expected.text,
             name_of(answer.expected.plan), answer.expected.microseconds, measured, with_commas(answer.queries()));
}

void print_json_results(const Answer& answer) {
  Json list = Json::array();
  for (std::size_t q = 0; q < answer.queries(); ++q) {
    Json ids = Json::array();
    Json distances = Json::array();
    Json scores = Json::array();
    Json labels = Json::array();
    const auto add = [&](std::uint64_t id, std::uint32_t distance) {
      ids.push_back(answer.key(id));
      distances.push_back(distance);
      if (!answer.database_labels.empty()) labels.push_back(answer.label(answer.database_labels[id]));
    };
    if (answer.ranked.size() > 0) {
      for (const auto& ranked : answer.ranked[q]) {
        add(ranked.id, ranked.distance);
        scores.push_back(ranked.score);
      }
    } else {
      for (const auto& neighbour : answer.results[q]) add(neighbour.id, neighbour.distance);
    }
    Json entry = {{"query", q}, {"ids", ids}, {"distances", distances}};
    if (answer.ranked.size() > 0) entry.add("scores", scores);
    if (!answer.query_labels.empty()) entry.add("query_label", answer.label(answer.query_labels[q]));
    if (!answer.database_labels.empty()) entry.add("labels", labels);
    list.push_back(entry);
  }
  Json out = {{"database", answer.size},
              {"bits", answer.bits},
              {"plan", name_of(answer.expected.plan)},
              {"search_seconds", answer.seconds},
              {"results", list}};
  if (answer.ranked.size() > 0) out.add("rerank_seconds", answer.rerank_seconds);
  print_json(out);
}

void print_results(const Answer& answer) {
  const auto label = [&](const std::vector<std::int64_t>& labels, std::size_t i) {
    return labels.empty() ? std::string() : fmt::format("\t{}", answer.label_text(labels[i]));
  };
  const bool ranked = answer.ranked.size() > 0;
  fmt::print("query{}\tid\tdistance{}{}\n", answer.query_labels.empty() ? "" : "\tquery label", ranked ? "\tscore" : "",
             answer.database_labels.empty() ? "" : "\tlabel");
  const auto line = [&](std::size_t q, std::uint64_t id, std::uint32_t distance, const std::string& score) {
    fmt::print("{}{}\t{}\t{}{}{}\n", q, label(answer.query_labels, q), answer.key_text(id), distance, score,
               label(answer.database_labels, id));
  };
  for (std::size_t q = 0; q < answer.queries(); ++q) {
    if (ranked) {
      for (const auto& entry : answer.ranked[q])
        line(q, entry.id, entry.distance, fmt::format("\t{:.9g}", entry.score));
    } else {
      for (const auto& entry : answer.results[q]) line(q, entry.id, entry.distance, "");
    }
  }
  const double queries = static_cast<double>(std::max<std::size_t>(answer.queries(), 1));
  say(fmt::format("{} queries among {} codes of {} bits: {:.1f} us per query{}\n", with_commas(answer.queries()),
                  with_commas(answer.size), answer.bits, 1e6 * answer.seconds / queries,
                  ranked ? fmt::format(", {:.1f} us to rerank", 1e6 * answer.rerank_seconds / queries) : ""));
}

// Scans all codes by a distance other than Hamming.
void scan_codes(const SearchArguments& arguments, const std::optional<Model>& model, const Codes& database,
                const Queries& queries, Answer& answer) {
  const int threads = arguments.options.threads;
  const auto timed = [&](const auto& scan, const auto& what) {
    const Stopwatch watch;
    scan.search(what, arguments.options.k, answer.ranked, threads);
    answer.seconds = watch.seconds();
  };
  if (arguments.rank == RankBy::spherical) {
    timed(SphericalScan(database, threads), queries.codes);
  } else {
    timed(ScoreScan(*model, arguments.rank, database, threads), queries.vectors);
  }
  answer.expected.text =
      fmt::format("{} codes of {} bits: scan by {}\n", database.size(), database.bits(), name_of(arguments.rank));
}

// The ranking of a shortlist by the codes of a database or an index.
template <class Source>
std::unique_ptr<Ranking> ranking_by(RankBy rank, const std::optional<Model>& model, const Source& source,
                                    const Queries& queries) {
  if (rank == RankBy::spherical) return std::make_unique<SphericalRanking>(source, queries.codes);
  return std::make_unique<CodeRanking>(*model, rank, source, queries.vectors);
}

// The ranking by the vectors of --rerank, whose keys are those of the index or their positions.
std::unique_ptr<Ranking> vector_ranking(const SearchArguments& arguments, const Vectors& queries,
                                        const Answer& answer) {
  const IndexKeys keys = keys_from(arguments.rerank_keys);
  const bool by_name = answer.has_names();
  if (keys.names.empty() && keys.ids.empty()) {
    if (by_name) {
      misuse("the keys of {} are names; give --rerank-names, a file with the names of the vectors in {}",
             arguments.index, arguments.rerank);
    }
    return std::make_unique<VectorRanking>(arguments.rerank, queries);
  }
  if (!answer.index) misuse("--rerank-ids and --rerank-names need --index; vector i of a database has id i");
  if (keys.names.empty() == by_name) {
    misuse("the keys of {} are {}; give --rerank-{}", arguments.index, by_name ? "names" : "ids",
           by_name ? "names" : "ids");
  }
  return std::make_unique<VectorRanking>(arguments.rerank, queries, *answer.index, keys);
}

void print_answer(const SearchArguments& arguments, const Answer& answer) {
  if (arguments.explain) return print_explanation(arguments, answer);
  if (arguments.json) return print_json_results(answer);
  print_results(answer);
}

void search_verb(SearchArguments& arguments) {
  if (arguments.database.empty() == arguments.index.empty()) misuse("give either --database or --index");
  std::optional<Model> model;
  if (!arguments.model.empty()) model = load_model(arguments.model);
  const int threads = arguments.options.threads;
  arguments.options.plan = plan_by_name(arguments.plan);
  const bool restricted = !arguments.only.ids_file.empty() || !arguments.only.names_file.empty();
  Answer answer;
  Codes database;
  if (arguments.index.empty()) {
    database = codes_from(arguments.csv.file(arguments.database), model, arguments.encoding);
    answer.size = database.size();
    answer.bits = database.bits();
    if (restricted) {
      const bool scan = arguments.plan == "automatic" || arguments.plan == "scan";
      const auto tables = scan ? IndexOptions::Tables::never : IndexOptions::Tables::always;
      answer.index = Index::build(database, {}, {.tables = tables, .threads = threads});
    }
  } else {
    if (!arguments.database_labels.empty()) misuse("--database-labels does not apply to --index");
    answer.index = open_index(arguments.index);
    answer.size = answer.index->size();
    answer.bits = answer.index->bits();
    if (model) with_name(arguments.index, [&] { check_index_matches(*model, *answer.index); });
  }
  const bool by_rank = arguments.rank != RankBy::hamming;
  const bool by_scores = !compares_codes(arguments.rank);
  const bool scans_all = by_rank && !answer.index && arguments.shortlist == 0;
  const Queries loaded =
      load_queries(arguments, model, !(scans_all && by_scores), by_scores || !arguments.rerank.empty());
  const Codes& queries = loaded.codes;
  if (!model && !is_codes_file(arguments.queries) && queries.bits() / 8 != bytes_for_bits(answer.bits)) {
    misuse(
        "the queries have {} bits, the database has {}; if {} holds vectors, give --model, the model that encodes them",
        queries.bits(), answer.bits, arguments.queries);
  }
  answer.database_labels = labels_from(arguments.csv.labels(arguments.database_labels, arguments.database),
                                       database.size(), arguments.database, &answer.label_names);
  answer.query_labels = labels_from(arguments.csv.labels(arguments.query_labels, arguments.queries), loaded.in_file,
                                    arguments.queries, &answer.label_names);
  if (scans_all) {
    scan_codes(arguments, model, database, loaded, answer);
    return print_answer(arguments, answer);
  }
  SearchOptions options = arguments.options;
  if (!arguments.rerank.empty() || by_rank) {
    const std::size_t usual = by_rank ? 1000 : 100;
    options.k = std::max(options.k, arguments.shortlist == 0 ? usual : arguments.shortlist);
  }
  if (answer.index) {
    search_index(arguments, options, queries, answer);
  } else {
    search_codes(database, options, queries, answer);
  }
  std::unique_ptr<Ranking> ranking;
  if (!arguments.rerank.empty()) {
    ranking = vector_ranking(arguments, loaded.vectors, answer);
  } else if (by_rank && answer.index) {
    ranking = ranking_by(arguments.rank, model, *answer.index, loaded);
  } else if (by_rank) {
    ranking = ranking_by(arguments.rank, model, database, loaded);
  }
  if (ranking) {
    const Stopwatch watch;
    rerank(answer.results, *ranking, arguments.options.k, threads, answer.ranked);
    answer.rerank_seconds = watch.seconds();
  }
  print_answer(arguments, answer);
}

}  // namespace

void add_search(Verb program) {
  const auto arguments = std::make_shared<SearchArguments>();
  Verb verb = add_verb(
      program, "search", "Find the nearest codes, or all within a radius",
      "  bdnn search --model m.bdnn --database base.codes --queries q.fvecs -k 10\n"
      "  bdnn search --database base.codes --queries q.codes --radius 2 --json\n"
      "  bdnn search --index db.index --queries q.codes -k 10 --explain\n"
      "  bdnn search --index db.index --model m.bdnn --queries q.fvecs --rerank base.fvecs --shortlist 1000\n"
      "  bdnn search --model m.bdnn --database base.codes --queries q.fvecs --rank reconstruction\n\n"
      "Prints one line per neighbour, by ascending distance, then ascending id. Ids are those of the index, or count\n"
      "from 0. With --rerank or --rank, neighbours are ordered by ascending score: the squared distance of the\n"
      "vectors or the spherical distance of the codes.");
  verb.text("--model", arguments->model, "Model that encodes the vectors");
  verb.text("--database", arguments->database, "Database: codes, or vectors to encode");
  verb.text("--index", arguments->index, "Index to search instead of a database ('bdnn index build')");
  verb.text("--queries", arguments->queries, "Queries: codes, or vectors to encode").required();
  const Option k = verb.number("-k", arguments->options.k, "Number of neighbours").shows_default();
  Option radius = verb.number("--radius", arguments->radius, "Find all codes within this distance (inclusive)");
  radius.excludes(k);
  const Option plan = verb.text("--plan", arguments->plan,
                                "Search plan: " + in_a_row(names_of(kAllPlans), "or") + "; results do not depend on it")
                          .shows_default();
  verb.flag("--explain", arguments->explain, "Print the plan with its expected and measured cost instead of results");
  add_key_options(verb, arguments->only, "the codes to search among");
  add_rank_option(verb, arguments->rank);
  const CodesOptions codes = add_codes_options(verb, arguments->encoding);
  Option rerank =
      verb.text("--rerank", arguments->rerank,
                "Rerank the shortlist by these vectors; vector i belongs to id i, or to key i of --rerank-names");
  add_key_options(verb, arguments->rerank_keys, "the vectors of --rerank", "--rerank-");
  verb.number("--shortlist", arguments->shortlist,
              "Length of the shortlist (default: 100 for --rerank; for --rank, 1000 with an index, else all codes)")
      .at_least_1();
  rerank.excludes(radius);
  verb.number("--first", arguments->first, "Search for the first N queries only").at_least_1();
  verb.text("--database-labels", arguments->database_labels, "Labels to print beside the neighbours");
  verb.text("--query-labels", arguments->query_labels, "Labels to print beside the queries");
  arguments->csv.add_options(verb);
  add_threads_option(verb, arguments->options.threads);
  add_json_option(verb, arguments->json);
  verb.runs([arguments, radius, plan, codes] {
    if (arguments->rerank.empty() &&
        (!arguments->rerank_keys.ids_file.empty() || !arguments->rerank_keys.names_file.empty())) {
      misuse("--rerank-ids and --rerank-names need --rerank");
    }
    arguments->csv.check({arguments->database, arguments->queries});
    codes.check(arguments->encoding, arguments->database);
    if (!arguments->index.empty()) refuse({codes.codes, codes.local_search}, "to --index, which already holds codes");
    if (radius.given()) arguments->options.radius = arguments->radius;
    arguments->encoding.threads = arguments->options.threads;
    const bool by_rank = arguments->rank != RankBy::hamming;
    if (!compares_codes(arguments->rank) && arguments->model.empty()) {
      misuse("--rank {} needs --model", name_of(arguments->rank));
    }
    if (by_rank && (radius.given() || !arguments->rerank.empty())) {
      misuse("--rank {} cannot be combined with --radius or --rerank", name_of(arguments->rank));
    }
    const bool restricted = !arguments->only.ids_file.empty() || !arguments->only.names_file.empty();
    if (by_rank && arguments->index.empty() && arguments->shortlist == 0 && !restricted) {
      refuse({plan}, "to --rank without --shortlist, which scans all codes");
    }
    if (arguments->shortlist > 0 && !by_rank && arguments->rerank.empty()) {
      misuse("--shortlist needs --rerank or --rank");
    }
    with_column_hint([&] { search_verb(*arguments); });
  });
}

}  // namespace bdnn::cli
