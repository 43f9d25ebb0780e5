// Runs under ThreadSanitizer: cells run side by side.
#include "experiment/reproduction.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "bdnn/version.h"
#include "expect_error.h"
#include "temporary_directory.h"
#include "whole_file.h"

namespace bdnn {
namespace {

using testing::TemporaryDirectory;

// 300 vectors of 6 dimensions in three clouds, and 40 queries, with labels.
void write_data(const std::string& folder, std::uint64_t seed) {
  std::filesystem::create_directories(folder);
  Random random(seed);
  for (const auto& [name, count] : {std::pair{"x", 300}, std::pair{"q", 40}}) {
    std::ofstream vectors(folder + "/" + name + ".csv");
    std::ofstream labels(folder + "/" + name + ".labels.csv");
    for (int i = 0; i < count; ++i) {
      labels << i % 3 << "\n";
      for (int d = 0; d < 6; ++d) vectors << (d > 0 ? "," : "") << (d == i % 3 ? 200 : 30) + random.below(25);
      vectors << "\n";
    }
  }
}

constexpr const char* kProtocol = R"(
name = "p"
[train]
vectors = "x.csv"
labels = "x.labels.csv"
[queries]
vectors = "q.csv"
labels = "q.labels.csv"
[relevance]
kind = "neighbours"
neighbours = 20
)";

constexpr const char* kExperiment = R"(
title = "E"
protocol = "p.toml"
dataset = "d"
bits = [3, 5]
seeds = [1, 2]
[images]
width = 3
height = 2
[[method]]
method = "itq"
[[method]]
method = "lsh"
)";

class Counts final : public ReproductionView {
 public:
  void note(const std::string& text) override { notes += text + "\n"; }
  void started(const ReproductionStatus& /*status*/) override { ++starts; }
  void finished(const std::string& /*cell*/, const Cell& /*result*/, const ReproductionStatus& status) override {
    last = status;
  }
  void failed(const std::string& cell, const std::string& why) override { failures.push_back(cell + ": " + why); }

  std::string notes;
  std::size_t starts = 0;
  ReproductionStatus last;
  std::vector<std::string> failures;
};

class Reproduction : public ::testing::Test {
 protected:
  Reproduction() {
    write_data(directory_ / "d", 1);
    testing::write_file(directory_ / "p.toml", kProtocol);
    testing::write_file(directory_ / "e.toml", kExperiment);
  }

  // Runs the experiment with a results file of this name; counts what it did.
  Counts run(const std::string& name, int threads = 1, int cells_at_once = 1) {
    const ExperimentPlan plan = load_experiment(directory_ / "e.toml");
    ResultsFile results(directory_ / name);
    Counts counts;
    const std::size_t failed = reproduce({plan}, results, {directory_.path(), "", threads, cells_at_once}, counts);
    EXPECT_EQ(failed, counts.failures.size());
    return counts;
  }

  TemporaryDirectory directory_;
};

TEST_F(Reproduction, RunsEveryCellOnce) {
  const Counts first = run("r.json");
  EXPECT_EQ(first.starts, 8U);
  EXPECT_EQ(first.last.done, 8U);
  EXPECT_EQ(first.last.total, 8U);
  EXPECT_EQ(first.last.seconds_left, 0);
  EXPECT_TRUE(first.last.running.empty());
  EXPECT_NE(first.last.best.find("% mAP at"), std::string::npos) << first.last.best;
  EXPECT_EQ(run("r.json").starts, 0U) << "finished cells were run again";
}

TEST_F(Reproduction, RunsWhatIsMissing) {
  run("r.json");
  testing::write_file(directory_ / "e.toml", std::string(kExperiment) + "set = { }\n[[method]]\nmethod = \"pca\"\n");
  const Counts more = run("r.json");
  EXPECT_EQ(more.starts, 4U);
  EXPECT_EQ(more.last.done, 12U);
}

TEST_F(Reproduction, DoesNotUseCellsOfOtherDataOrMeasures) {
  run("r.json");
  write_data(directory_ / "d", 2);
  EXPECT_EQ(run("r.json").starts, 8U);
  EXPECT_EQ(ResultsFile(directory_ / "r.json").cells().size(), 16U) << "cells of other data are kept";
  write_data(directory_ / "d", 1);
  EXPECT_EQ(run("r.json").starts, 0U);
  testing::write_file(directory_ / "p.toml", std::string(kProtocol) + "[metrics]\nradii = [2, 3]\n");
  EXPECT_EQ(run("r.json").starts, 8U);
}

TEST_F(Reproduction, UsesCellsOfAnotherCommitAndSaysSo) {
  run("r.json");
  EXPECT_EQ(run("r.json").notes.find("commit"), std::string::npos);
  {
    ResultsFile results(directory_ / "r.json");
    for (std::size_t i = 0; i < 3; ++i) {
      Cell cell = results.cells()[i];
      EXPECT_EQ(cell.environment.at("commit"), commit());
      cell.environment["commit"] = "0123456789ab";
      if (i == 2) cell.environment.erase("commit");  // as older programs wrote it
      results.add(cell);
    }
  }
  const Counts again = run("r.json");
  EXPECT_EQ(again.starts, 0U);
  EXPECT_NE(again.notes.find(
                fmt::format("other commits than this program's, {}: 2 of 0123456789ab, 1 of unknown; ", commit())),
            std::string::npos)
      << again.notes;
}

TEST_F(Reproduction, ResultsDependNeitherOnThreadsNorOnCellsAtOnce) {
  run("a.json", 1, 1);
  run("b.json", 4, 4);
  run("c.json", 4, 2);
  const ResultsFile a(directory_ / "a.json");
  for (const char* name : {"b.json", "c.json"}) {
    const ResultsFile b(directory_ / name);
    ASSERT_EQ(b.cells().size(), a.cells().size());
    for (const Cell& cell : a.cells()) {
      const Cell* other = b.find(cell.key);
      ASSERT_NE(other, nullptr);
      EXPECT_EQ(other->values, cell.values);
      EXPECT_EQ(other->codes, cell.codes);
      ASSERT_EQ(other->images.size(), cell.images.size());
      for (std::size_t i = 0; i < cell.images.size(); ++i) {
        EXPECT_EQ(other->images[i].image, cell.images[i].image);
        EXPECT_EQ(other->images[i].found.size(), 10U);
      }
    }
  }
}

TEST_F(Reproduction, OnlyTheLongestCodesOfTheFirstSeedGetImages) {
  run("r.json");
  const ResultsFile results(directory_ / "r.json");
  for (const Cell& cell : results.cells()) {
    EXPECT_EQ(!cell.images.empty(), cell.key.bits == 5 && cell.key.seed == 1);
    EXPECT_EQ(cell.curve.size(), cell.key.bits + 1);
  }
}

TEST_F(Reproduction, ACellThatFailsLeavesTheOthers) {
  testing::write_file(
      directory_ / "e.toml",
      std::string(kExperiment) + "[[method]]\nlabel = \"bad\"\nmethod = \"itq\"\nset = { rotations = \"many\" }\n");
  const Counts counts = run("r.json");
  EXPECT_EQ(counts.last.done, 8U);
  ASSERT_EQ(counts.failures.size(), 4U);
  EXPECT_NE(counts.failures[0].find("bad, 3 bits, seed 1: "), std::string::npos) << counts.failures[0];
}

TEST(CellsAtOnce, AreOnePerThreadIfMemoryAllows) {
  constexpr std::uint64_t kCell = std::uint64_t{4} * 60000 * (2 * 784 + 1000);  // of MNIST: 616 MB
  const auto of_mnist = [](std::size_t cells, int threads, std::uint64_t memory) {
    return cells_at_once(cells, threads, 60000, 784, memory);
  };
  EXPECT_EQ(of_mnist(72, 8, 100 * kCell), 8);
  EXPECT_EQ(of_mnist(3, 8, 100 * kCell), 3) << "no more than there are";
  EXPECT_EQ(of_mnist(72, 8, 5 * kCell), 5);
  EXPECT_EQ(of_mnist(72, 8, 5 * kCell - 1), 4);
  EXPECT_EQ(of_mnist(72, 8, 1), 1) << "one runs in any case";
  EXPECT_EQ(of_mnist(72, 8, 0), 8) << "unknown memory limits nothing";
}

TEST_F(Reproduction, MistakesAreFoundBeforeAnythingRuns) {
  const auto expect = [&](const std::string& message, Error::Kind kind) {
    ResultsFile results(directory_ / "r.json");
    Counts counts;
    try {
      reproduce({load_experiment(directory_ / "e.toml")}, results, {directory_.path(), "", 1, 1}, counts);
      ADD_FAILURE() << "no error with: " << message;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
      EXPECT_EQ(error.kind(), kind);
    }
    EXPECT_EQ(counts.starts, 0U);
  };
  testing::write_file(directory_ / "e.toml", std::string(kExperiment) + "[[method]]\nmethod = \"itk\"\n");
  expect("itk", Error::Kind::misuse);
  testing::write_file(directory_ / "e.toml", std::string(kExperiment) + "profile = \"none\"\n");
  expect("lsh has no profile 'none'", Error::Kind::misuse);
  testing::write_file(directory_ / "e.toml", kExperiment);
  std::filesystem::remove(directory_ / "d/q.csv");
  expect("d/q.csv: no such file; p needs it", Error::Kind::failure);
}

}  // namespace
}  // namespace bdnn
