#include "cli/dataset_split.h"

#include <fmt/format.h>

#include "bdnn/protocol.h"
#include "cli/command.h"
#include "cli/outputs.h"

namespace bdnn::cli {
namespace {

struct DatasetSplitArguments {
  std::string protocol;
  std::string folder = ".";
  std::string out;
  std::uint64_t seed = 0;
  int threads = 0;
  bool json = false;
};

void check_split_outputs(const DatasetSplitArguments& arguments, const Protocol& protocol) {
  std::vector<NamedFile> inputs = files_of(protocol, arguments.folder);
  inputs.push_back({"the protocol", arguments.protocol});
  for (const char* name : {"train.ivecs", "queries.ivecs", "split.json"}) {
    check_outputs({{"--out", arguments.out + "/" + name}}, inputs);
  }
}

void split_verb(const DatasetSplitArguments& arguments, const Option& seed_option) {
  const Protocol protocol = load_protocol(arguments.protocol);
  if (!protocol.splits()) refuse({seed_option}, "to a protocol without a split");
  if (!arguments.out.empty()) check_split_outputs(arguments, protocol);
  const std::uint64_t seed = arguments.seed > 0 ? arguments.seed : protocol.split.seed;
  const Dataset dataset = load_dataset(protocol, arguments.folder, seed, arguments.threads);
  if (!arguments.out.empty()) save_split(protocol, dataset, seed, arguments.out);
  const Overlap overlap = find_overlap(dataset);
  const DatasetHashes hashes = hash_dataset(dataset);
  if (arguments.json) {
    print_json({{"protocol", protocol.name},
                {"seed", seed},
                {"train", {{"count", dataset.train.size()}, {"xxh3", hashes.train}}},
                {"database", {{"count", dataset.database.size()}, {"xxh3", hashes.database}}},
                {"queries", {{"count", dataset.queries.size()}, {"xxh3", hashes.queries}}},
                {"queries_also_in_training", overlap.with_training},
                {"queries_also_in_database", overlap.with_database}});
    return;
  }
  fmt::print("{}\n", protocol.name);
  const auto part = [](const char* name, const Vectors& x, const std::string& hash) {
    fmt::print("{:<10} {:>10} vectors of {} {}, xxh3 {}\n", name, with_commas(x.size()), x.dimension(),
               name_of(x.shape().element), hash);
  };
  part("train", dataset.train, hashes.train);
  part("database", dataset.database, hashes.database);
  part("queries", dataset.queries, hashes.queries);
  fmt::print("{} queries also occur in the training set, {} in the database\n", with_commas(overlap.with_training),
             with_commas(overlap.with_database));
}

}  // namespace

void add_dataset_split(Verb dataset) {
  const auto arguments = std::make_shared<DatasetSplitArguments>();
  Verb verb = add_verb(dataset, "split", "Draw a protocol's split, check it and save it",
                       "  bdnn dataset split protocols/mnist-deep-hashing.toml --folder data/mnist --out split1\n\n"
                       "Writes train.ivecs and queries.ivecs (rows of the collection, from 0) and split.json with "
                       "hashes of the vectors and labels.");
  verb.text("protocol", arguments->protocol, "Protocol file").required();
  verb.text("--folder", arguments->folder, "Folder with the protocol's data files").shows_default();
  verb.text("--out", arguments->out, "Folder to write the split to");
  const Option seed = verb.number("--seed", arguments->seed, "Seed of the split (default: the protocol's)");
  add_threads_option(verb, arguments->threads);
  add_json_option(verb, arguments->json);
  verb.runs([arguments, seed] { split_verb(*arguments, seed); });
}

}  // namespace bdnn::cli
