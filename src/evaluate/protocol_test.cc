#include "bdnn/protocol.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "data/convert.h"
#include "expect_error.h"
#include "temporary_directory.h"
#include "whole_file.h"

namespace bdnn {
namespace {

using testing::TemporaryDirectory;

constexpr const char* kSplit = R"(
name = "a split"
[collection]
vectors = ["a.csv", "b.csv"]
labels = ["la.csv", "lb.csv"]
[split]
queries_per_class = 2
seed = 3
[relevance]
kind = "labels"
)";

// Nine vectors of three classes in two files; vectors 0 and 8 are the same.
void write_collection(const TemporaryDirectory& directory) {
  testing::write_file(directory / "a.csv", "0.5,1\n1,1\n2,1\n3,1\n");
  testing::write_file(directory / "b.csv", "4.5,1\n5,1\n6,1\n7,1\n0.5,1\n");
  testing::write_file(directory / "la.csv", "0\n1\n2\n0\n");
  testing::write_file(directory / "lb.csv", "1\n2\n0\n1\n2\n");
}

TEST(Protocol, ReadsWhatItSays) {
  const TemporaryDirectory directory;
  testing::write_file(directory / "p.toml", R"(
name = "n"
[train]
vectors = "t.fvecs"
[database]
vectors = "b.fvecs"
[queries]
vectors = "q.fvecs"
[relevance]
kind = "neighbours"
neighbours = 7
metric = "cosine"
[metrics]
radii = [0, 3]
at = [10]
cutoff = 100
ties = "worst"
)");
  const Protocol protocol = load_protocol(directory / "p.toml");
  EXPECT_EQ(protocol.train.vectors, std::vector<std::string>{"t.fvecs"});
  EXPECT_EQ(protocol.database.vectors, std::vector<std::string>{"b.fvecs"});
  EXPECT_FALSE(protocol.splits());
  EXPECT_FALSE(protocol.labels_are_relevant);
  EXPECT_EQ(protocol.neighbours.k, 7U);
  EXPECT_EQ(protocol.neighbours.metric, Metric::cosine);
  EXPECT_EQ(protocol.metrics.radii, (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(protocol.metrics.at, std::vector<std::size_t>{10});
  EXPECT_EQ(protocol.metrics.cutoff, 100U);
  EXPECT_EQ(protocol.metrics.ties, Ties::worst);
}

TEST(Protocol, MistakesAreNamedWithTheirLine) {
  const TemporaryDirectory directory;
  const auto expect = [&](const std::string& text, const std::string& message) {
    testing::write_file(directory / "p.toml", text);
    EXPECT_BDNN_ERROR(load_protocol(directory / "p.toml"), failure, message);
  };
  const std::string head = "[train]\nvectors = \"t\"\n[queries]\nvectors = \"q\"\n";
  expect("name = ", "p.toml: line 1");
  expect(head + "[relevance]\nkind = \"neighbours\"\nneighbors = 5\n",
         "line 7: unknown key 'neighbors' in [relevance]; the keys are kind, neighbours, metric");
  expect(head + "[relevance]\nkind = \"friends\"\n", "line 6: 'kind' must be neighbours, labels");
  expect(head + "[relevance]\nkind = \"neighbours\"\nneighbours = -5\n",
         "'neighbours' must be a whole number, 0 or more");
  expect(head + "[relevance]\nkind = \"neighbours\"\n[metrics]\nradii = [1, \"x\"]\n", "'radii' must be whole numbers");
  expect(head, "[relevance] must state its kind");
  expect(head + "[relevance]\nkind = \"labels\"\n", "needs labels of the database and of the queries");
  expect("[relevance]\nkind = \"labels\"\n", "give either a [collection]");
  expect("colour = 1\n" + head, "line 1: unknown key 'colour' at the top");
  expect("[collection]\nvectors = \"c\"\n[relevance]\nkind = \"labels\"\n", "a split needs queries_per_class");
}

TEST(Protocol, TheOnesThatShipAreValid) {
  const std::string folder = std::string(BDNN_SOURCE_DIR) + "/protocols";
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_FALSE(load_protocol(entry.path()).name.empty());
    ++count;
  }
  EXPECT_GE(count, 4U);
}

TEST(Dataset, ASplitTakesSoManyOfEachClassAndEveryRowOnce) {
  const TemporaryDirectory directory;
  write_collection(directory);
  testing::write_file(directory / "p.toml", kSplit);
  const Protocol protocol = load_protocol(directory / "p.toml");
  std::set<std::vector<std::int32_t>> splits;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Dataset dataset = load_dataset(protocol, directory.path(), seed);
    EXPECT_EQ(dataset.queries.size(), 6U);
    EXPECT_EQ(dataset.train.size(), 3U);
    EXPECT_EQ(dataset.database.size(), 3U);
    for (std::int64_t label = 0; label < 3; ++label) {
      EXPECT_EQ(std::count(dataset.query_labels.begin(), dataset.query_labels.end(), label), 2);
    }
    std::vector<std::int32_t> rows = dataset.train_rows;
    rows.insert(rows.end(), dataset.query_rows.begin(), dataset.query_rows.end());
    std::sort(rows.begin(), rows.end());
    for (std::int32_t i = 0; i < 9; ++i) EXPECT_EQ(rows[static_cast<std::size_t>(i)], i);
    // The vectors are those of the rows.
    float vector[2];
    to_float(dataset.queries.shape().element, dataset.queries.data(), 2, vector);
    const float firsts[] = {0.5F, 1, 2, 3, 4.5F, 5, 6, 7, 0.5F};
    EXPECT_EQ(vector[0], firsts[dataset.query_rows[0]]);
    splits.insert(dataset.query_rows);
    EXPECT_EQ(load_dataset(protocol, directory.path(), seed).query_rows, dataset.query_rows);
  }
  EXPECT_GT(splits.size(), 3U) << "the seed decides";
}

TEST(Dataset, QueriesThatAlsoStandElsewhereAreCounted) {
  const TemporaryDirectory directory;
  testing::write_file(directory / "t.csv", "1,2\n3,4\n5,6.5\n");
  testing::write_file(directory / "q.csv", "3,4\n1,7.5\n1,2\n");
  testing::write_file(
      directory / "p.toml",
      "[train]\nvectors = \"t.csv\"\n[queries]\nvectors = \"q.csv\"\n[relevance]\nkind = \"neighbours\"\n");
  const Dataset dataset = load_dataset(load_protocol(directory / "p.toml"), directory.path(), 1);
  EXPECT_EQ(find_overlap(dataset).with_training, 2U);
  EXPECT_EQ(find_overlap(dataset).with_database, 2U);
}

TEST(Dataset, LeaveOneOutCountsNoQueryAsItsOwnTwin) {
  const TemporaryDirectory directory;
  write_collection(directory);
  testing::write_file(directory / "p.toml", R"(
[collection]
vectors = ["a.csv", "b.csv"]
labels = ["la.csv", "lb.csv"]
[split]
queries_per_class = 2
search_queries = true
leave_one_out = true
[relevance]
kind = "labels"
)");
  const Dataset dataset = load_dataset(load_protocol(directory / "p.toml"), directory.path(), 1);
  EXPECT_EQ(dataset.database.size(), dataset.queries.size());
  EXPECT_EQ(dataset.self.size(), dataset.queries.size());
  const bool both = std::count(dataset.query_rows.begin(), dataset.query_rows.end(), 0) +
                        std::count(dataset.query_rows.begin(), dataset.query_rows.end(), 8) ==
                    2;
  EXPECT_EQ(find_overlap(dataset).with_database, both ? 2U : 0U);
}

TEST(Dataset, ASplitIsWrittenWithHashes) {
  const TemporaryDirectory directory;
  write_collection(directory);
  testing::write_file(directory / "p.toml", kSplit);
  const Protocol protocol = load_protocol(directory / "p.toml");
  const Dataset dataset = load_dataset(protocol, directory.path(), 3);
  save_split(protocol, dataset, 3, directory / "split");
  const auto json = JsonValue::parse(read_whole_file(directory / "split/split.json", 1 << 20));
  EXPECT_EQ(json.string_at("protocol"), "a split");
  EXPECT_EQ(json.whole_at("seed"), 3U);
  EXPECT_EQ(json["queries"].whole_at("count"), 6U);
  EXPECT_EQ(json["queries"].string_at("xxh3"), hash_dataset(dataset).queries);
  const auto rows = load_labels(directory / "split/queries.ivecs");
  EXPECT_TRUE(std::equal(rows.begin(), rows.end(), dataset.query_rows.begin(), dataset.query_rows.end()));
  EXPECT_NE(hash_dataset(load_dataset(protocol, directory.path(), 4)).queries, hash_dataset(dataset).queries);
}

TEST(Dataset, MistakesAreNamed) {
  const TemporaryDirectory directory;
  write_collection(directory);
  std::string greedy = kSplit;
  greedy.replace(greedy.find("= 2"), 3, "= 4");
  testing::write_file(directory / "p.toml", greedy);
  EXPECT_BDNN_ERROR(load_dataset(load_protocol(directory / "p.toml"), directory.path(), 1), failure,
                    "class 0 has 3 members, fewer than the 4 queries drawn from each class");
  greedy.replace(greedy.find("= 4"), 3, "= 3");
  testing::write_file(directory / "p.toml", greedy);
  EXPECT_BDNN_ERROR(load_dataset(load_protocol(directory / "p.toml"), directory.path(), 1), failure,
                    "leaves nothing to train on");
  testing::write_file(directory / "p.toml", kSplit);
  testing::write_file(directory / "lb.csv", "1\n2\n0\n1\n");
  EXPECT_BDNN_ERROR(load_dataset(load_protocol(directory / "p.toml"), directory.path(), 1), failure,
                    "8 labels for 9 vectors");
  testing::write_file(directory / "b.csv", "1,2,3\n");
  EXPECT_BDNN_ERROR(load_dataset(load_protocol(directory / "p.toml"), directory.path(), 1), failure,
                    "all parts of a set must agree");
}

}  // namespace
}  // namespace bdnn
