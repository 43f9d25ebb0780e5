#include "bdnn/search.h"

#include <fmt/format.h>

#include "cli/codes_input.h"
#include "cli/command.h"

namespace bdnn::cli {
namespace {

struct Arguments {
  std::string model;
  std::string database;
  std::string queries;
  std::string database_labels;
  std::string query_labels;
  SearchOptions options;
  std::size_t radius = 0;
  std::size_t first = 0;
  bool json = false;
};

void search_verb(Arguments& arguments) {
  std::optional<Model> model;
  if (!arguments.model.empty()) model = load_model(arguments.model);
  const int threads = arguments.options.threads;
  const Codes database = codes_from(arguments.database, model, threads);
  Codes queries = codes_from(arguments.queries, model, threads);
  const auto database_labels = labels_from(arguments.database_labels, database.size(), arguments.database);
  const auto query_labels = labels_from(arguments.query_labels, queries.size(), arguments.queries);
  if (arguments.first > 0 && arguments.first < queries.size()) {
    std::vector<std::uint8_t> bytes(queries.data(), queries.data() + arguments.first * queries.bytes_per_code());
    queries = Codes(queries.bits(), arguments.first, std::move(bytes), queries.origin());
  }
  const Stopwatch watch;
  const auto results = search(database, queries, arguments.options);
  const double seconds = watch.seconds();

  if (arguments.json) {
    auto list = nlohmann::ordered_json::array();
    for (std::size_t q = 0; q < results.size(); ++q) {
      auto ids = nlohmann::ordered_json::array();
      auto distances = nlohmann::ordered_json::array();
      for (const auto& neighbour : results[q]) {
        ids.push_back(neighbour.id);
        distances.push_back(neighbour.distance);
      }
      nlohmann::ordered_json entry = {{"query", q}, {"ids", ids}, {"distances", distances}};
      if (!query_labels.empty()) entry["query_label"] = query_labels[q];
      if (!database_labels.empty()) {
        auto labels = nlohmann::ordered_json::array();
        for (const auto& neighbour : results[q]) labels.push_back(database_labels[neighbour.id]);
        entry["labels"] = labels;
      }
      list.push_back(entry);
    }
    const nlohmann::ordered_json out = {
        {"database", database.size()}, {"bits", database.bits()}, {"search_seconds", seconds}, {"results", list}};
    print_json(out);
    return;
  }
  const auto label = [](const std::vector<std::int64_t>& labels, std::size_t i) {
    return labels.empty() ? std::string() : fmt::format("\t{}", labels[i]);
  };
  fmt::print("query{}\tid\tdistance{}\n", query_labels.empty() ? "" : "\tquery label",
             database_labels.empty() ? "" : "\tlabel");
  for (std::size_t q = 0; q < results.size(); ++q) {
    for (const auto& neighbour : results[q]) {
      fmt::print("{}{}\t{}\t{}{}\n", q, label(query_labels, q), neighbour.id, neighbour.distance,
                 label(database_labels, neighbour.id));
    }
  }
  say(fmt::format("{} queries among {} codes of {} bits: {:.1f} us per query\n", with_commas(queries.size()),
                  with_commas(database.size()), database.bits(), 1e6 * seconds / static_cast<double>(queries.size())));
}

}  // namespace

void add_search(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* verb =
      add_verb(app, "search", "Find the nearest codes, or all within a radius",
               "  bdnn search --model m.bdnn --database base.codes --queries q.fvecs -k 10\n"
               "  bdnn search --database base.codes --queries q.codes --radius 2 --json\n\n"
               "Prints one line per neighbour: by ascending distance, then ascending id. Ids count from 0.");
  verb->add_option("--model", arguments->model, "Encodes what is not codes yet");
  verb->add_option("--database", arguments->database, "What to search: codes, or vectors to be encoded")->required();
  verb->add_option("--queries", arguments->queries, "What to search for: codes, or vectors to be encoded")->required();
  auto* k = verb->add_option("-k", arguments->options.k, "The number of neighbours")
                ->check(whole_number())
                ->capture_default_str();
  auto* radius = verb->add_option("--radius", arguments->radius, "All codes within this distance, itself included")
                     ->check(whole_number());
  radius->excludes(k);
  verb->add_option("--first", arguments->first, "Search only for the first so many queries")->check(whole_number());
  verb->add_option("--database-labels", arguments->database_labels, "Labels to print beside the neighbours");
  verb->add_option("--query-labels", arguments->query_labels, "Labels to print beside the queries");
  add_threads_option(verb, arguments->options.threads);
  add_json_option(verb, arguments->json);
  verb->callback([arguments, radius] {
    if (radius->count() > 0) arguments->options.radius = arguments->radius;
    search_verb(*arguments);
  });
}

}  // namespace bdnn::cli
