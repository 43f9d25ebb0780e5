#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "bdnn/ground_truth.h"
#include "expect_error.h"
#include "temporary_directory.h"

namespace bdnn {
namespace {

const GroundTruth kTruth{3, {4, 0, 2, 1, 2, 3}};

TEST(GroundTruthFile, ReadsWhatWasWritten) {
  const testing::TemporaryDirectory folder;
  for (const std::string name : {"t.ivecs", "t.npy", "t.hdf5", "t.csv"}) {
    const std::string path = folder / name;
    save_ground_truth(kTruth, path);
    for (const std::size_t k : {0, 3}) {
      const GroundTruth all = load_ground_truth(path, 5, 2, k);
      EXPECT_EQ(all.k, 3U) << name;
      EXPECT_EQ(all.ids, kTruth.ids) << name;
    }
    const GroundTruth two = load_ground_truth(path, 5, 2, 2);
    EXPECT_EQ(two.k, 2U);
    EXPECT_EQ(two.ids, (std::vector<std::int32_t>{4, 0, 1, 2}));
  }
  EXPECT_EQ(load_ground_truth(folder / "t.hdf5:neighbors", 5, 2, 0).ids, kTruth.ids);
}

TEST(GroundTruthFile, WhatCannotBelongIsRefused) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder / "t.ivecs";
  save_ground_truth(kTruth, path);
  EXPECT_BDNN_ERROR(load_ground_truth(path, 5, 3, 0), failure, path + ": holds the neighbours of 2 queries, not of 3");
  EXPECT_BDNN_ERROR(load_ground_truth(path, 5, 2, 4), failure, path + ": holds 3 neighbours of each query, but 4");
  EXPECT_BDNN_ERROR(load_ground_truth(path, 3, 2, 0), failure, path + ": query 0 has neighbour 4 in column 0");
  EXPECT_BDNN_ERROR(load_ground_truth(path, 3, 2, 0), failure, "0 to 2");
  save_ground_truth({3, {4, 0, 2, 1, -2, 3}}, path);
  EXPECT_BDNN_ERROR(load_ground_truth(path, 5, 2, 0), failure, path + ": query 1 has neighbour -2 in column 1");
  save_ground_truth({3, {4, 0, 2, 3, 1, 3}}, path);
  EXPECT_BDNN_ERROR(load_ground_truth(path, 5, 2, 0), failure, path + ": query 1 has neighbour 3 more than once");
  EXPECT_EQ(load_ground_truth(path, 5, 2, 2).k, 2U) << "what is not asked for does not matter";
  std::ofstream(folder / "t.csv") << "1,2\n1.5,3\n";
  EXPECT_BDNN_ERROR(load_ground_truth(folder / "t.csv", 5, 2, 0), failure, "query 1 has neighbour 1.5 in column 0");
  EXPECT_BDNN_ERROR(save_ground_truth(kTruth, folder / "t.fvecs"), misuse, "use .ivecs");
}

class GroundTruthCache : public ::testing::Test {
 protected:
  struct Counter final : Progress {
    int calls = 0;
    void update(std::string_view, std::size_t, std::size_t) override { ++calls; }
  };

  static Vectors floats(std::uint64_t seed) {
    Random random(seed);
    std::vector<float> values(8 * 100);
    for (auto& value : values) value = static_cast<float>(random.normal());
    return {8, 100, values};
  }

  // Whether it had to be computed. What comes is right in any case.
  bool computes(const GroundTruthOptions& options) {
    Counter counter;
    Progress silent;
    const auto found = cached_neighbours(database_, queries_, options, folder_ / "a/b", counter);
    EXPECT_EQ(found.k, options.k);
    EXPECT_EQ(found.ids, exact_neighbours(database_, queries_, options, silent).ids);
    return counter.calls > 0;
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "a/b")) names.push_back(entry.path());
    return names;
  }

  testing::TemporaryDirectory folder_;
  Vectors database_ = floats(1);
  Vectors queries_ = floats(2).slice(0, 10);
};

TEST_F(GroundTruthCache, ComputesOnce) {
  EXPECT_TRUE(computes({.k = 5}));
  EXPECT_FALSE(computes({.k = 5}));
  EXPECT_FALSE(computes({.k = 5, .threads = 1}));
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(GroundTruthCache, AnythingElseIsAnotherFile) {
  EXPECT_TRUE(computes({.k = 5}));
  EXPECT_TRUE(computes({.k = 6}));
  EXPECT_TRUE(computes({.k = 5, .metric = Metric::cosine}));
  GroundTruthOptions options{.k = 5};
  options.self.assign(10, 3);
  EXPECT_TRUE(computes(options));
  queries_ = queries_.slice(0, 9);
  EXPECT_TRUE(computes({.k = 5}));
  database_ = floats(3);
  EXPECT_TRUE(computes({.k = 5}));
  EXPECT_EQ(files().size(), 6U);
}

TEST_F(GroundTruthCache, ADamagedFileIsComputedAnew) {
  EXPECT_TRUE(computes({.k = 5}));
  const std::string path = files().at(0);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);
  EXPECT_TRUE(computes({.k = 5})) << "truncated";
  EXPECT_FALSE(computes({.k = 5}));
  for (std::uintmax_t at = 0; at < std::filesystem::file_size(path); at += 7) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    EXPECT_TRUE(computes({.k = 5})) << "a bit of byte " << at << " flipped";
  }
  EXPECT_FALSE(computes({.k = 5}));
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(GroundTruthCache, ALinkInThePlaceOfAFileIsReplacedAndNotFollowed) {
  EXPECT_TRUE(computes({.k = 5}));
  const std::string path = files().at(0);
  const std::string input = folder_ / "base.fvecs";
  std::ofstream(input) << "somebody's vectors";
  std::filesystem::remove(path);
  std::filesystem::create_symlink(input, path);
  EXPECT_TRUE(computes({.k = 5}));
  EXPECT_EQ(std::filesystem::file_size(input), 18U);
  EXPECT_FALSE(std::filesystem::is_symlink(path));
  EXPECT_FALSE(computes({.k = 5}));
}

TEST_F(GroundTruthCache, NoFolderMeansNoCache) {
  Counter counter;
  for (int i = 1; i <= 2; ++i) {
    cached_neighbours(database_, queries_, {.k = 5, .threads = 1}, "", counter);
    EXPECT_EQ(counter.calls, i);
  }
  EXPECT_TRUE(folder_.empty());
}

TEST_F(GroundTruthCache, AFolderThatCannotBeIsAnError) {
  std::ofstream(folder_ / "file") << "x";
  Progress progress;
  EXPECT_BDNN_ERROR(cached_neighbours(database_, queries_, {.k = 5}, folder_ / "file/sub", progress), failure,
                    "file/sub: cannot make this folder");
}

}  // namespace
}  // namespace bdnn
